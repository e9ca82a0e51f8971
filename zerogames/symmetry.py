"""Symmetries of boards: none but the identity, a mirror, the eight of a square."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Encoding, Symmetry


def identity_symmetry(encoding: Encoding, action_size: int) -> Symmetry:
    """Leave everything where it is: the first symmetry of every game, and the only one of some."""
    cells = np.arange(encoding.height * encoding.width, dtype=np.int32)
    return Symmetry("identity", cells, np.arange(action_size, dtype=np.int32))


def mirror_symmetries(encoding: Encoding, actions: NDArray[np.int32]) -> Sequence[Symmetry]:
    """The identity and the exchange of left and right.

    `actions` `[A]` gives for every action the one that it is seen as in the mirror.
    """
    identity = identity_symmetry(encoding, len(actions))
    cells = identity.cells.reshape(encoding.height, encoding.width)[:, ::-1].ravel()
    return [identity, Symmetry("mirror", cells, actions)]


def square_symmetries(size: int, *, num_other_actions: int = 0) -> Sequence[Symmetry]:
    """Rotations and reflections for actions `row * size + column`.

    `num_other_actions` (a pass) follow the board's actions and stay where they are.
    """
    actions = np.arange(size * size + num_other_actions, dtype=np.int32)
    board, others = actions[: size * size].reshape(size, size), actions[size * size :]
    turned = [np.rot90(board, turns) for turns in range(4)]
    cells = [one.flatten() for one in (*turned, *(one[:, ::-1] for one in turned))]
    rotations = ("identity", "rotate90", "rotate180", "rotate270")
    reflections = ("mirror", "transpose", "flip", "antitranspose")
    return [
        Symmetry(name, one, np.concatenate([one, others]))
        for name, one in zip((*rotations, *reflections), cells, strict=True)
    ]
