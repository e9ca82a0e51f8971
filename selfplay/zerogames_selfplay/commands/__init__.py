"""The commands `zerogames selfplay` and `zerogames train`."""
