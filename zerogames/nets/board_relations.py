"""How the points of a board lie to each other: patterns extended over it, and distances."""

from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray
from zerogames_kernels import Pattern, square_pattern
from zerogames_kernels.pattern import RADIUS


@lru_cache(maxsize=64)
def extended_patterns(patterns: tuple[Pattern, ...], board: tuple[int, int]) -> NDArray[np.bool_]:
    """Which points each pattern joins on a whole board, `[patterns + 1, T, T]`.

    Each joins a point with itself. A pattern with both steps of a direction, such as the rook's,
    goes on to the edge; other steps, such as the knight's, are taken once. The last relation is
    that of neighbours, a king's steps.
    """
    height, width = board
    related = np.zeros((len(patterns) + 1, height * width, height * width), np.bool_)
    for number, pattern in enumerate((*patterns, square_pattern(3))):
        taps = set(pattern.offsets)
        for row, column in taps - {(0, 0)}:
            step = gcd(row, column)
            unit = (row // step, column // step)
            far = all(tuple(n * part for part in unit) in taps for n in range(1, RADIUS + 1))
            steps = range(1, max(board)) if far and step == 1 else range(1, 2)
            for n in steps:
                _relate(related[number], board, (n * row, n * column))
        np.fill_diagonal(related[number], True)
    return related


def reach_map(patterns: tuple[Pattern, ...], board: tuple[int, int]) -> NDArray[np.float32]:
    """Lc0's map `[T, T]`: -1 for a point itself, 1 for those that a pattern reaches, else 0."""
    reached: NDArray[np.float32] = np.zeros((board[0] * board[1],) * 2, np.float32)
    for related in extended_patterns(patterns, board):
        reached[related] = 1
    np.fill_diagonal(reached, -1)
    return reached


@lru_cache(maxsize=64)
def offset_index(board: tuple[int, int], largest: int) -> NDArray[np.int64]:
    """A number for the distance in rows and columns of each pair `[T, T]`, at most `largest`."""
    rows, columns = (part.ravel() for part in np.indices(board))
    row, column = (
        np.clip(part[None, :] - part[:, None], -largest, largest) + largest
        for part in (rows, columns)
    )
    index: NDArray[np.int64] = (row * (2 * largest + 1) + column).astype(np.int64)
    return index


def _relate(related: NDArray[np.bool_], board: tuple[int, int], offset: tuple[int, int]) -> None:
    rows, columns = (part.ravel() for part in np.indices(board))
    to_rows, to_columns = rows + offset[0], columns + offset[1]
    inside = (to_rows >= 0) & (to_rows < board[0]) & (to_columns >= 0) & (to_columns < board[1])
    start = np.flatnonzero(inside)
    related[start, to_rows[inside] * board[1] + to_columns[inside]] = True
