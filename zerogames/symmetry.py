"""The eight symmetries of a square board."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Symmetry


def square_symmetries(size: int, *, num_other_actions: int = 0) -> Sequence[Symmetry]:
    """Rotations and reflections for actions `row * size + column`.

    `num_other_actions` (a pass) follow the board's actions and stay where they are.
    """
    cells = np.arange(size * size, dtype=np.int32).reshape(size, size)
    others = np.arange(size * size, size * size + num_other_actions, dtype=np.int32)

    def symmetry(name: str, board: NDArray[np.int32]) -> Symmetry:
        flat = np.ascontiguousarray(board).ravel()
        return Symmetry(name, flat, np.concatenate([flat, others]))

    turned = [np.rot90(cells, turns) for turns in range(4)]
    names = ("identity", "rotate90", "rotate180", "rotate270")
    rotations = [symmetry(name, board) for name, board in zip(names, turned, strict=True)]
    names = ("mirror", "transpose", "flip", "antitranspose")
    reflections = [
        symmetry(name, board[:, ::-1]) for name, board in zip(names, turned, strict=True)
    ]
    return (*rotations, *reflections)
