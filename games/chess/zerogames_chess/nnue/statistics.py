"""The cost of a feature set and the use a network makes of it, counted on positions of its data."""

import itertools
from dataclasses import dataclass

import chess
import numpy as np
from numpy.typing import NDArray

from zerogames_chess.nnue import _native
from zerogames_chess.nnue.feature_set import FeatureSet, top_pairs
from zerogames_chess.nnue.inference import record_bytes
from zerogames_chess.nnue.network import ACTIVATION_SCALE, Network


@dataclass(frozen=True)
class FeatureCosts:
    """Means over positions and both perspectives."""

    size: int
    active: float
    """Distinct active features."""
    added: float
    """Rows added by a legal move that needs no refresh."""
    removed: float
    refresh_share: float
    """The share of (move, perspective) pairs that need a refresh."""


def count_costs(name: str, records: NDArray[np.void]) -> FeatureCosts:
    """Try every legal move of the positions in `records`."""
    features = _native.FeatureSet(name, top_pairs())
    active, added, removed, refreshes, moves = 0, 0, 0, 0, 0
    fens = _native.unpack_fens(record_bytes(records))
    for fen in fens:
        board = chess.Board(fen)
        active += sum(len(set(features.active(fen, white))) for white in (True, False))
        for move in board.legal_moves:
            board.push(move)
            after = board.fen()
            board.pop()
            for white in (True, False):
                lists = features.changed(fen, after, white)
                moves += 1
                if lists is None:
                    refreshes += 1
                else:
                    added, removed = added + len(lists[0]), removed + len(lists[1])
    updates = max(1, moves - refreshes)
    return FeatureCosts(
        size=features.size,
        active=active / (2 * len(fens)),
        added=added / updates,
        removed=removed / updates,
        refresh_share=refreshes / max(1, moves),
    )


@dataclass(frozen=True)
class Deadness:
    """The features and neurons that never change over a set of positions."""

    unseen_features: int
    """Never active there, beyond those that no legal position has."""
    neurons_off: int
    """First-layer neurons that are always 0."""
    neurons_full: int
    """The number of first-layer neurons that are always at the upper end."""


def count_dead(network: Network, records: NDArray[np.void]) -> Deadness:
    """Run the first layer on `records`, both perspectives."""
    features = _native.FeatureSet(network.features, top_pairs())
    own, own_offsets, other, other_offsets = _native.feature_lists(features, record_bytes(records))
    seen = np.zeros(features.size, bool)
    low = np.full(network.b1.shape, np.iinfo(np.int32).max, np.int32)
    high = np.full(network.b1.shape, np.iinfo(np.int32).min, np.int32)
    for indices, offsets in ((own, own_offsets), (other, other_offsets)):
        seen[indices] = True
        for first, last in itertools.pairwise(offsets):
            rows = network.w1[indices[first:last]].sum(0, dtype=np.int32) + network.b1
            np.minimum(low, rows, out=low)
            np.maximum(high, rows, out=high)
    return Deadness(
        unseen_features=int((~seen).sum()) - len(FeatureSet(network.features).dead),
        neurons_off=int((high <= 0).sum()),
        neurons_full=int((low >= ACTIVATION_SCALE).sum()),
    )
