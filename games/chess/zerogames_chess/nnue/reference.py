"""The integer network in plain NumPy: slow, and what every fast path must equal bit for bit."""

from collections.abc import Iterable

import chess
import numpy as np
from numpy.typing import NDArray

from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.network import ACTIVATION_SCALE, Network


def accumulate(network: Network, active: Iterable[int]) -> NDArray[np.int64]:
    """One perspective's accumulator [M]: a repeated feature counts once."""
    rows = network.w1[sorted(set(active))].astype(np.int64)
    return np.asarray(rows.sum(axis=0) + network.b1)


def forward(
    network: Network, own: NDArray[np.int64], opponent: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Scores from the accumulators of the side to move and the other, `[..., M]` each."""

    def clip(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.clip(values, 0, ACTIVATION_SCALE)

    x = clip(np.concatenate([own, opponent], axis=-1))
    x = clip((x @ network.w2.T.astype(np.int64) + network.b2) >> 6)  # [..., O]
    if len(network.b3):
        x = clip((x @ network.w3.T.astype(np.int64) + network.b3) >> 6)  # [..., P]
    # Python and NumPy shift towards minus infinity, as the native code does.
    return np.asarray((x @ network.w4.astype(np.int64) + network.b4) >> 4)


def evaluate(network: Network, board: chess.Board) -> int:
    """The score of a position in the side to move's view, not clamped."""
    features = FeatureSet(network.features)
    own, opponent = (
        accumulate(network, features.active(board, pov)) for pov in (board.turn, not board.turn)
    )
    return int(forward(network, own, opponent))
