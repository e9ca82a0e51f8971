"""Hex, with the swap as an action."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from zerogames.base_game import BaseGame
from zerogames.game import GameSpec, Heads, PolicyMap, State, Symmetry
from zerogames.picture import Piece
from zerogames_boards import _native
from zerogames_boards.grid import (
    cell_name,
    letter_rows,
    one_encoding,
    read_cell,
    require_legal,
)
from zerogames_boards.hex_picture import HexPicture
from zerogames_boards.patterns import HEXAGONS

_RED = Piece("x", "#c8322b")
_BLUE = Piece("o", "#2f62b8")


@dataclass(frozen=True, kw_only=True)
class HexOptions:
    """The board and the rule that makes it fair."""

    size: Annotated[int, Field(ge=2, le=19)] = 11
    """Rows and columns of the board."""
    swap: bool = True
    """Whether the second player may take over the first stone instead of its first move."""


class Hex(BaseGame):
    """Red (x) connects top to bottom and moves first, Blue (o) connects left to right.

    Cells are written `a1`, in the upper left corner, to `k11`; the last action is `swap`. Actions
    and planes are in the mover's view: for Blue the board is mirrored at the diagonal from a1, so
    that everybody connects top to bottom.
    """

    patterns = HEXAGONS

    def __init__(self, options: HexOptions) -> None:
        super().__init__("hex", options)
        self.size = size = options.size
        self.swap = options.swap
        cells = size * size
        planes = ("own stones", "opponent's stones", "swap allowed", "ones")
        self.encodings = one_encoding("stones", planes, size, size, num_constants=2)
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=cells + 1,
            observation_shape=self.encodings["stones"].shape,
            max_plies=cells + 1,
        )
        # The swap's logit is that of the middle of a second plane.
        index = np.append(np.arange(cells), cells + cells // 2).astype(np.int32)
        self.heads = Heads(
            policy=("dense", "conv"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={"conv": PolicyMap(planes=2, index=index)},
        )
        actions = np.arange(cells + 1, dtype=np.int32)
        turned = np.append(actions[:cells][::-1], cells).astype(np.int32)
        self.symmetries = (
            Symmetry("identity", actions[:cells], actions),
            Symmetry("rotate180", turned[:cells], turned),
        )

    def initial_state(self) -> State:
        """The empty board."""
        return _native.Hex(self.size, self.swap)

    def parse_state(self, text: str) -> State:
        """Read rows from the top, numbers for empty cells, and the side to move: `3/1x1/3 o`."""
        return _native.Hex.from_text(self.size, self.swap, text)

    def format_state(self, state: State) -> str:
        """The inverse of `parse_state`."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a cell such as `c2`, or `swap`."""
        if text.strip().lower() == "swap":
            return require_legal(state, self.size**2, "swap")
        row, column = read_cell(text, self.size, self.size)
        if state.to_play == 1:
            row, column = column, row
        return require_legal(state, row * self.size + column, text)

    def format_action(self, state: State, action: int) -> str:
        """A cell such as `c2`, or `swap`."""
        if action == self.size**2:
            return "swap"
        return cell_name(*self._cell(action, state.to_play))

    def _cell(self, action: int, side: int) -> tuple[int, int]:
        """Row and column of what `side` sees at `action`."""
        row, column = divmod(action, self.size)
        return (row, column) if side == 0 else (column, row)

    def render(self, state: State, *, last_action: int | None = None) -> HexPicture:
        """Red's edges are above and below, Blue's at the sides."""
        letters, size = letter_rows(state), self.size
        rows = range(size)
        red = [(0, c, side) for c in rows for side in (5, 0)]
        red += [(size - 1, c, side) for c in rows for side in (2, 3)]
        blue = [(r, 0, side) for r in rows for side in (3, 4)]
        blue += [(r, size - 1, side) for r in rows for side in (0, 1)]
        stones = [
            (r, c) for r in rows for c in rows if letters[r][c] and last_action == size * size
        ]
        if last_action is not None and last_action < size * size:
            stones = [self._cell(last_action, 1 - state.to_play)]
        caption = ""
        if last_action == size * size:
            caption = f"o swapped: its stone is {cell_name(*stones[0])}"
        elif state.is_legal(size * size):
            caption = "o may swap"
        return HexPicture(
            pieces=[[{"x": _RED, "o": _BLUE}.get(letter) for letter in row] for row in letters],
            shifts=list(rows),
            column_labels=[chr(ord("a") + column) for column in rows],
            row_labels=[str(row + 1) for row in rows],
            edges=(("#c8322b", red), ("#2f62b8", blue)),
            highlight=frozenset(stones),
            caption=caption,
        )
