"""Counting pairs of pieces: makes the list behind the blocks `toppp:K`."""

from collections.abc import Iterable

import chess
import numpy as np
from numpy.typing import NDArray

from zerogames_chess.nnue.block import PRODUCTS
from zerogames_chess.nnue.position import View

PIECE = PRODUCTS[0]


def count_pairs(boards: Iterable[chess.Board]) -> NDArray[np.int64]:
    """Count unordered pairs of PIECE indices in both perspectives: `[768, 768]`, i < j."""
    counts = np.zeros(768 * 768, np.int64)
    for board in boards:
        for pov in chess.COLORS:
            indices = np.sort(PIECE.active(View.of(board, pov)))
            first, second = np.triu_indices(len(indices), 1)
            # Indices of one position are distinct, so is every pair: no count is lost.
            counts[indices[first] * 768 + indices[second]] += 1
    return counts.reshape(768, 768)


def most_frequent(counts: NDArray[np.int64], number: int) -> NDArray[np.uint16]:
    """The `number` pairs with the highest counts, then the lowest index: `[number, 2]`."""
    flat = counts.ravel()
    order = np.argsort(-flat, kind="stable")[:number]
    if flat[order[-1]] == 0:
        raise ValueError(f"fewer than {number} pairs were seen")
    return np.stack([order // 768, order % 768], axis=1).astype(np.uint16)
