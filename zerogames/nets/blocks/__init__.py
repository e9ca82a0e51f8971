"""The blocks trunks are made of; their kinds by name are in `zerogames.nets.block_kinds`."""
