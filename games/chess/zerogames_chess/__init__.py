"""Chess and Chess960: native rules, Lc0's planes and policy index, PGN."""

from zerogames.lazy import import_on_use

# Listing the games needs the plugin alone.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
