"""The protocols by which user interfaces drive engines (UCI, USI): one session for all of them."""

from zerogames.lazy import import_on_use

# Options and positions are used without a net.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
