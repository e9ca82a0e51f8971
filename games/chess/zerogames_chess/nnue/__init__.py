"""NNUE: feature sets, integer networks, training and an alpha-beta engine."""

from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.network import Network, read_network, write_network

__all__ = ["FeatureSet", "Network", "read_network", "write_network"]
