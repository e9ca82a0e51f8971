"""Tree search of one position, pools of self-play games, random rollouts, and their settings."""

from zerogames.lazy import import_on_use

# Commands import the settings to show their help; the compiled search is loaded when used.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
