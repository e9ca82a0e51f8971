"""The loop of self-play, training and rating."""
