"""Shogi: native rules, planes and labels for convolutional nets, USI, records in CSA's format."""

from zerogames.lazy import import_on_use

# Listing the games needs the plugin alone.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
