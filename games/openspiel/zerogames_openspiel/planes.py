"""How OpenSpiel's observation tensors become planes."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from zerogames_kernels import Pattern

from zerogames.game import Encoding

ENCODING = "openspiel"
_SIDES = (("rows", "columns"), ("num_rows", "num_cols"), ("board_size",) * 2, ("size",) * 2)
"""The parameters by which games name the sides of their boards."""


def describe_planes(shape: Sequence[int], parameters: Mapping[str, object]) -> Encoding:
    """Say how a tensor is laid out; the last plane tells who is to move, which tensors may not.

    `[P, H, W]` are planes. `[P, n]` are planes of the board if n is its area, else of one row.
    `[P]` are numbers: planes of a single cell.
    """
    height, width = 1, 1
    if len(shape) == 3:
        height, width = shape[1:]
    elif len(shape) == 2:
        height, width = _board(shape[1], parameters)
    count = shape[0] if shape else 1
    return Encoding(
        name=ENCODING,
        planes=(*(f"OpenSpiel's plane {number}" for number in range(count)), "second player moves"),
        height=height,
        width=width,
        num_constant_planes=1,
    )


def _board(area: int, parameters: Mapping[str, object]) -> tuple[int, int]:
    for sides in _SIDES:
        height, width = (parameters.get(side) for side in sides)
        if isinstance(height, int) and isinstance(width, int) and height * width == area:
            return height, width
    return 1, area


def fill_planes(tensor: Sequence[float], player: int, planes: NDArray[np.float32]) -> None:
    """Write the tensor and the side to move into `[P, H, W]`."""
    planes[:-1] = np.asarray(tensor, np.float32).reshape(-1, *planes.shape[1:])
    planes[-1] = player


def cell_planes(encoding: Encoding, num_actions: int) -> NDArray[np.int32] | None:
    """Where the actions `[A]` are on planes of the board, `[planes, H, W]` flattened.

    None if the actions cannot be cells, times a number of moves from each. One action more than
    cells, such as a pass or the swap, has no plane: -1.
    """
    cells = encoding.height * encoding.width
    if cells == 1:
        return None
    if num_actions == cells + 1:
        return np.append(np.arange(cells, dtype=np.int32), np.int32(-1))
    count, rest = divmod(num_actions, cells)
    if rest:
        return None
    cell, move = np.divmod(np.arange(num_actions, dtype=np.int32), np.int32(count))
    return move * cells + cell


def row_patterns(shape: tuple[int, int, int]) -> Mapping[str, Pattern]:
    """Kernels for a single cell and for a single row; none for boards, which take squares."""
    _, height, width = shape
    if height > 1 and width > 1:
        return {}
    reach = min(2, width - 1)
    return {"r": Pattern("row", tuple((0, step) for step in range(-reach, reach + 1)))}
