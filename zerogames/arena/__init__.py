"""Matches between players, and ratings from their games."""

from zerogames.lazy import import_on_use

# Players and openings are used without ratings.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
