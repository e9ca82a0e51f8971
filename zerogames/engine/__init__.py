"""Searching one position with a net, with limits and clocks: the engine of all players."""

from zerogames.lazy import import_on_use

# Clocks and limits are used without a net; the compiled search is loaded with the engine.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
