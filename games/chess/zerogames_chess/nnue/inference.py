"""Loads an integer network into the native engine."""

import numpy as np
from numpy.typing import NDArray

from zerogames_chess.nnue import _native
from zerogames_chess.nnue.feature_set import top_pairs
from zerogames_chess.nnue.network import Network
from zerogames_chess.nnue.records import RECORD


def load_native(network: Network, *, kernel: str = "") -> _native.Network:
    """Lay a network out for this CPU.

    Args:
        network: as read from a file.
        kernel: `scalar`, `avx2` or `vnni`; by default the fastest that this CPU runs.
    """
    return _native.Network(
        (network.features, top_pairs()),
        (np.ascontiguousarray(network.w1), np.ascontiguousarray(network.b1)),
        (np.ascontiguousarray(network.w2), np.ascontiguousarray(network.b2)),
        (np.ascontiguousarray(network.w3), np.ascontiguousarray(network.b3)),
        (np.ascontiguousarray(network.w4), network.b4),
        kernel,
    )


def record_bytes(records: NDArray[np.void]) -> NDArray[np.uint8]:
    """Records as the native code takes them: `[n, 40]` bytes."""
    return np.ascontiguousarray(records, RECORD).view(np.uint8).reshape(-1, RECORD.itemsize)
