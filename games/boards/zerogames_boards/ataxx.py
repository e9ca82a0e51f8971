"""Ataxx, with blocked cells as an option."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from zerogames.base_game import BaseGame
from zerogames.errors import UserError
from zerogames.game import GameSpec, Heads, PolicyMap, State, Symmetry
from zerogames.picture import BoardPicture, Piece
from zerogames.symmetry import square_symmetries
from zerogames_boards import _native
from zerogames_boards.grid import cell_name, letter_rows, one_encoding, read_cell, require_legal
from zerogames_boards.patterns import RINGS

JUMPS = [(r, c) for r in range(-2, 3) for c in range(-2, 3) if 2 in (abs(r), abs(c))]
"""Rows and columns of the sixteen jumps, in the order of the actions."""
_PIECES = {"x": Piece("x", "#c8322b"), "o": Piece("o", "#2f62b8"), "-": Piece("#", "#404040")}


@dataclass(frozen=True, kw_only=True)
class AtaxxOptions:
    """The board."""

    size: Annotated[int, Field(ge=4, le=8)] = 7
    """Rows and columns of the board."""
    blocked: str = ""
    """Cells that nobody may enter, such as `c3+c5+e3+e5`; not the corners."""

    def __post_init__(self) -> None:
        # One set of cells has one identity.
        cells = {read_cell(name, self.size, self.size) for name in self._names()}
        names = [cell_name(*cell) for cell in sorted(cells)]
        object.__setattr__(self, "blocked", "+".join(names))

    def _names(self) -> list[str]:
        return self.blocked.split("+") if self.blocked else []

    @property
    def mask(self) -> int:
        """A bit for each blocked cell, row * size + column."""
        cells = (read_cell(name, self.size, self.size) for name in self._names())
        return sum(1 << (row * self.size + column) for row, column in cells)


class Ataxx(BaseGame):
    """Red (x) begins. Moves are written `c3` (a clone), `a1c3` (a jump) and `pass`.

    Actions: a cell clones to it; `(1 + d) * cells + cell` jumps from it in direction d of `JUMPS`;
    the last one passes. cell = row * size + column with row 0 at the bottom.
    """

    patterns = RINGS

    def __init__(self, options: AtaxxOptions) -> None:
        super().__init__("ataxx", options)
        self.size = size = options.size
        planes = ("own pieces", "opponent's pieces", "blocked", "moves without clone / 100", "ones")
        self.encodings = one_encoding("pieces", planes, size, size, num_constants=2)
        self._blocked = options.mask
        self._cells = cells = size * size
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=17 * cells + 1,
            observation_shape=self.encodings["pieces"].shape,
            max_plies=100 * cells,
        )
        index = np.append(np.arange(17 * cells), -1).astype(np.int32)
        self.heads = Heads(
            policy=("conv", "dense"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={"conv": PolicyMap(planes=17, index=index)},
        )
        self.symmetries = tuple(_with_jumps(one, size) for one in square_symmetries(size))

    def initial_state(self) -> State:
        """Two pieces each in the corners."""
        return _native.Ataxx(self.size, self._blocked)

    def parse_state(self, text: str) -> State:
        """Read rows from the top, the side to move, and how many moves in a row were no clones.

        Blocked cells are `-`: `x5o/7/2-1-2/7/2-1-2/7/o5x x 0`.
        """
        return _native.Ataxx.from_text(self.size, text)

    def format_state(self, state: State) -> str:
        """The inverse of `parse_state`."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read `c3`, `a1c3` or `pass`; two neighbouring cells are a clone as well."""
        name, cells = text.strip().lower(), self._cells
        if name in ("pass", "0000"):
            return require_legal(state, 17 * cells, "pass")
        if len(name) not in (2, 4):
            raise UserError(f"'{text}' is not a move; write c3 (a clone), a1c3 (a jump) or pass")
        row, column = read_cell(name[:2], self.size, self.size)
        action = row * self.size + column
        if len(name) == 4:
            to_row, to_column = read_cell(name[2:], self.size, self.size)
            step = to_row - row, to_column - column
            if step in JUMPS:
                action += (1 + JUMPS.index(step)) * cells
            elif max(map(abs, step)) == 1:
                action = to_row * self.size + to_column
            else:
                raise UserError(f"'{text}' is neither a clone nor a jump")
        return require_legal(state, action, text)

    def format_action(self, state: State, action: int) -> str:
        """`c3` (a clone), `a1c3` (a jump) or `pass`."""
        return (
            "pass"
            if action == 17 * self._cells
            else "".join(cell_name(*cell) for cell in self._way(action))
        )

    def _way(self, action: int) -> list[tuple[int, int]]:
        """The cells that an action names, as (row, column): a target, or from where to where."""
        kind, cell = divmod(action, self._cells)
        row, column = divmod(cell, self.size)
        if kind == 0:
            return [(row, column)]
        rows, columns = JUMPS[kind - 1]
        return [(row, column), (row + rows, column + columns)]

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """Red and blue pieces, with their count."""
        letters, size = letter_rows(state), self.size
        counts = {side: sum(row.count(side) for row in letters) for side in "xo"}
        highlight = frozenset[tuple[int, int]]()
        if last_action is not None and last_action < 17 * self._cells:
            highlight = frozenset(
                (size - 1 - row, column) for row, column in self._way(last_action)
            )
        return BoardPicture(
            pieces=[[_PIECES.get(letter) for letter in row] for row in letters],
            column_labels=[chr(ord("a") + column) for column in range(size)],
            row_labels=[str(size - row) for row in range(size)],
            highlight=highlight,
            caption=f"red {counts['x']}, blue {counts['o']}",
        )


def _with_jumps(symmetry: Symmetry, size: int) -> Symmetry:
    """A symmetry of the cells, with the directions of jumps turned as it turns the board."""
    cells, count = symmetry.cells, size * size
    # Rows and columns of the cell that each new cell comes from; all symmetries are linear.
    rows, columns = np.divmod(cells.reshape(size, size), size)
    down = rows[1, 0] - rows[0, 0], columns[1, 0] - columns[0, 0]
    right = rows[0, 1] - rows[0, 0], columns[0, 1] - columns[0, 0]
    kinds = [0]
    for row, column in JUMPS:
        old = row * down[0] + column * right[0], row * down[1] + column * right[1]
        kinds.append(1 + JUMPS.index(old))
    actions = np.concatenate([kind * count + cells for kind in kinds] + [[17 * count]])
    return Symmetry(symmetry.name, cells, actions.astype(np.int32))
