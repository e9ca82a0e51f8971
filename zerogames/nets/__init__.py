"""Nets: names and specs (without torch), blocks, heads, the model, losses and the net file."""

from zerogames.lazy import import_on_use

# Games import the names of nets; torch is loaded only where a net is made.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
