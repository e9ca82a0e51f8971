"""Lc0's weight files: SE-ResNets in and out."""

from zerogames.lazy import import_on_use

# The command that imports weights shows its help without torch.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
