"""Batches of training samples, and the packed samples they are expanded from."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zerogames.data import _samples
from zerogames.game import Game, Symmetry

SAMPLE_HEADER = struct.Struct("<6H7f")
"""The layout of `SampleHeader` in `zerogames/sample.hpp`; its last seven numbers are q and d (win
minus loss, and draw) of the result and of the search, turns left, weight, plies played before."""
_NO_SYMMETRY = np.empty(0, np.uint8)


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleBatch:
    """Positions with what a net should say about them, all in the side to move's view.

    Every array is contiguous and free of NaN.
    """

    planes: NDArray[np.float32]
    """`[B, P, H, W]`: raw values of the encoding (rule-50 in plies)."""
    policy: NDArray[np.float32]
    """`[B, A]`: sums to 1, zero for illegal actions."""
    legal: NDArray[np.bool_]
    """`[B, A]`."""
    result: NDArray[np.float32]
    """`[B, 3]`: win, draw, loss as the game ended."""
    search: NDArray[np.float32]
    """`[B, 3]`: win, draw, loss as the search saw it; the result where nothing is known."""
    moves_left: NDArray[np.float32]
    """`[B]`: turns to the end of the game; -1 where unknown."""
    weights: NDArray[np.float32]
    """`[B]`."""
    plies: NDArray[np.float32]
    """`[B]`: moves played before; -1 where unknown."""
    ends: NDArray[np.float32]
    """`[B, K]`: what is known of the game's end, see `zerogames.data.ends`; K may be 0."""
    ends_known: NDArray[np.float32]
    """`[B]`: 1 where `ends` are known, else 0."""

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def empty(
        cls, size: int, shape: tuple[int, int, int], action_size: int, *, end_columns: int = 0
    ) -> Self:
        """Room for `size` samples with planes of this shape; their ends are not known."""
        return cls(
            planes=np.empty((size, *shape), np.float32),
            policy=np.empty((size, action_size), np.float32),
            legal=np.empty((size, action_size), np.bool_),
            result=np.empty((size, 3), np.float32),
            search=np.empty((size, 3), np.float32),
            moves_left=np.empty(size, np.float32),
            weights=np.empty(size, np.float32),
            plies=np.empty(size, np.float32),
            ends=np.zeros((size, end_columns), np.float32),
            ends_known=np.zeros(size, np.float32),
        )

    def __getitem__(self, rows: slice) -> Self:
        """Some rows, sharing memory."""
        return type(self)(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def copy(self) -> Self:
        """A copy in memory of its own."""
        return type(self)(
            **{field.name: getattr(self, field.name).copy() for field in fields(self)}
        )


class Symmetries:
    """The board symmetries of a game as tables for `unpack`."""

    def __init__(self, symmetries: Sequence[Symmetry]) -> None:
        self.count = len(symmetries)
        self.cells = np.stack([symmetry.cells for symmetry in symmetries]).astype(np.int32)
        self.actions = np.stack([symmetry.actions for symmetry in symmetries]).astype(np.int32)

    @classmethod
    def of(cls, game: Game) -> Self | None:
        """The symmetries of a game; None if it has the identity alone."""
        return cls(game.symmetries) if len(game.symmetries) > 1 else None


def unpack(
    samples: list[bytes],
    out: SampleBatch,
    symmetries: Symmetries | None = None,
    chosen: NDArray[np.uint8] = _NO_SYMMETRY,
) -> SampleBatch:
    """Expand packed samples into the first rows of `out`; return those rows.

    With `symmetries` sample i is transformed by number `chosen[i]`; 0 is the identity.
    """
    _samples.unpack_samples(samples, out, symmetries, chosen)
    return out[: len(samples)]
