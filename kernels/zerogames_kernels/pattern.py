"""Patterns: which neighbours of a square a depthwise kernel reads.

A pattern is a named set of taps inside a 5x5 window. Its mask is the same set as a 5x5 array of
0 and 1, as the paper prints it; multiplying a dense 5x5 kernel by the mask gives the same layer.
The games define their own patterns, for example chess the moves of king, knight, rook and bishop
(`patterns` of the game's plugin); a layer gives each group of channels one pattern.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RADIUS = 2
"""Greatest distance of a tap from the centre: patterns lie in a 5x5 window."""


@dataclass(frozen=True)
class Pattern:
    """A named set of taps, offsets `(d_row, d_column)` from the centre.

    Taps are kept top to bottom, then left to right, in the orientation of the paper's masks
    (row -2 first); weights `[C, K]` follow that order.
    """

    name: str
    offsets: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not self.offsets:
            raise ValueError(f"pattern '{self.name}' has no taps")
        if len(set(self.offsets)) != len(self.offsets):
            raise ValueError(f"pattern '{self.name}' repeats a tap")
        if any(max(abs(row), abs(column)) > RADIUS for row, column in self.offsets):
            raise ValueError(f"pattern '{self.name}' has a tap outside the 5x5 window")
        object.__setattr__(self, "offsets", tuple(sorted(self.offsets)))

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The 5x5 mask, top row first."""
        mask = np.zeros((2 * RADIUS + 1, 2 * RADIUS + 1), dtype=np.bool_)
        for row, column in self.offsets:
            mask[row + RADIUS, column + RADIUS] = True
        return mask

    @classmethod
    def from_mask(cls, name: str, mask: str) -> "Pattern":
        """Read rows of 0 and 1 separated by white space, top row first."""
        rows = mask.split()
        size = 2 * RADIUS + 1
        if len(rows) != size or any(len(row) != size or set(row) - {"0", "1"} for row in rows):
            raise ValueError(f"pattern '{name}': a mask is five rows of five 0 or 1")
        taps = [
            (row - RADIUS, column - RADIUS)
            for row in range(size)
            for column in range(size)
            if rows[row][column] == "1"
        ]
        return cls(name, tuple(taps))


def square_pattern(size: int) -> Pattern:
    """A full `size` x `size` square, size 1, 3 or 5."""
    if size not in (1, 3, 5):
        raise ValueError(f"a square pattern has size 1, 3 or 5, not {size}")
    reach = range(-(size // 2), size // 2 + 1)
    return Pattern(f"{size}x{size}", tuple((row, column) for row in reach for column in reach))


def random_pattern(seed: int, *, taps: int = 9) -> Pattern:
    """The centre and `taps - 1` other squares of the 5x5 window, drawn from `seed`."""
    others = [offset for offset in square_pattern(5).offsets if offset != (0, 0)]
    chosen = np.random.default_rng(seed).choice(len(others), size=taps - 1, replace=False)
    return Pattern(f"random{seed}", ((0, 0), *(others[i] for i in chosen)))
