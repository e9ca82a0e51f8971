"""Supervised training on games of others: settings, the run and its folder, comparisons of nets."""
