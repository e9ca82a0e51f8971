"""The zero loop: self-play, learning and rating together."""
