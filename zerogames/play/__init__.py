"""Games between a person at a terminal and a net (`zerogames play`)."""
