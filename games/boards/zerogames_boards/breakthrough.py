"""Breakthrough on boards up to 8x8."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from zerogames.base_game import BaseGame
from zerogames.errors import UserError
from zerogames.game import GameSpec, Heads, PolicyMap, State, Symmetry
from zerogames.picture import BoardPicture, Piece
from zerogames_boards import _native
from zerogames_boards.grid import (
    cell_name,
    letter_rows,
    one_encoding,
    read_cell,
    require_legal,
)
from zerogames_boards.patterns import STEPS

_WHITE = Piece("w", "#f8f8f8")
_BLACK = Piece("b", "#101010")


@dataclass(frozen=True, kw_only=True)
class BreakthroughOptions:
    """The board."""

    size: Annotated[int, Field(ge=4, le=8)] = 8
    """Rows, and columns if these are not given."""
    columns: Annotated[int, Field(ge=0, le=8)] = 0
    """Columns of the board, 2 to 8; 0 is as many as rows."""

    def __post_init__(self) -> None:
        if self.columns == 1:
            raise UserError("columns is 2 to 8, or 0 for as many as rows")
        if self.columns == self.size:  # One board has one identity.
            object.__setattr__(self, "columns", 0)


class Breakthrough(BaseGame):
    """White (w) begins and moves up. Moves are written `b2-c3`, captures `b2xc3`.

    An action is `direction * cells + row * columns + column` of the man that moves, with the
    directions left, straight, right and row 0 the mover's first; the columns are the same for both.
    """

    patterns = STEPS

    def __init__(self, options: BreakthroughOptions) -> None:
        super().__init__("breakthrough", options)
        self.rows, self.columns = options.size, options.columns or options.size
        self.encodings = one_encoding(
            "men",
            ("own men", "opponent's men", "ones"),
            self.rows,
            self.columns,
            num_constants=1,
        )
        cells = self.rows * self.columns
        actions = np.arange(3 * cells, dtype=np.int32)
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=3 * cells,
            observation_shape=self.encodings["men"].shape,
            # Every move brings a man of one side a row forward.
            max_plies=4 * self.columns * (self.rows - 1),
        )
        self.heads = Heads(
            policy=("conv", "dense"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={"conv": PolicyMap(planes=3, index=actions)},
        )
        mirrored = actions.reshape(3, self.rows, self.columns)[::-1, :, ::-1]
        self.symmetries = (
            Symmetry("identity", actions[:cells], actions),
            Symmetry("mirror", mirrored[2].ravel(), mirrored.ravel()),
        )

    def initial_state(self) -> State:
        """Two rows of men each, White to move."""
        return _native.Breakthrough(self.rows, self.columns)

    def parse_state(self, text: str) -> State:
        """Read rows from the top, numbers for empty cells, and the side to move.

        Example: `bbbb/bbbb/4/wwww/wwww w`.
        """
        return _native.Breakthrough.from_text(self.rows, self.columns, text)

    def format_state(self, state: State) -> str:
        """The inverse of `parse_state`."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read two cells, such as `b2-c3`; what is between them does not matter."""
        names = text.replace("x", "-").replace("-", " ").split()
        if len(names) == 1 and len(names[0]) == 4:
            names = [names[0][:2], names[0][2:]]
        if len(names) != 2:
            raise UserError(f"'{text}' is not a move; write two cells, such as b2-c3")
        (row, column), (to_row, to_column) = (
            read_cell(name, self.rows, self.columns) for name in names
        )
        ahead, direction = to_row - row, to_column - column + 1
        if state.to_play == 1:
            row, ahead = self.rows - 1 - row, -ahead
        if ahead != 1 or not 0 <= direction <= 2:
            raise UserError(f"'{text}' is not legal here")
        action = (direction * self.rows + row) * self.columns + column
        return require_legal(state, action, text)

    def format_action(self, state: State, action: int) -> str:
        """The cells from and to, such as `b2-c3`; `b2xc3` if it captures."""
        start, end = self._cells(action, state.to_play)
        mark = "x" if letter_rows(state)[self.rows - 1 - end[0]][end[1]] else "-"
        return f"{cell_name(*start)}{mark}{cell_name(*end)}"

    def _cells(self, action: int, side: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The cells from and to, as (row, column) with White's first row 0."""
        direction, cell = divmod(action, self.rows * self.columns)
        row, column = divmod(cell, self.columns)
        to_row, to_column = row + 1, column + direction - 1
        if side == 1:
            row, to_row = self.rows - 1 - row, self.rows - 1 - to_row
        return (row, column), (to_row, to_column)

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """White's men below."""
        highlight = frozenset[tuple[int, int]]()
        if last_action is not None:
            cells = self._cells(last_action, 1 - state.to_play)
            highlight = frozenset((self.rows - 1 - row, column) for row, column in cells)
        return BoardPicture(
            pieces=[
                [{"w": _WHITE, "b": _BLACK}.get(letter) for letter in row]
                for row in letter_rows(state)
            ],
            column_labels=[chr(ord("a") + column) for column in range(self.columns)],
            row_labels=[str(self.rows - row) for row in range(self.rows)],
            dark="#b58863",
            highlight=highlight,
        )
