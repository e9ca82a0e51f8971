"""Connect Four: four in a row on 7 columns by 6 rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zerogames.base_game import BaseGame
from zerogames.errors import UserError
from zerogames.game import Encoding, GameSpec, Heads, State, Symmetry
from zerogames.picture import BoardPicture, Piece
from zerogames.symmetry import mirror_symmetries
from zerogames_classics import _native
from zerogames_classics.connect4_solver import Connect4Solver

COLUMNS, ROWS = 7, 6
_RED = Piece("x", "#c8322b")
_YELLOW = Piece("o", "#e8c22a")


@dataclass(frozen=True, kw_only=True)
class Connect4Options:
    """There are none: one board, one rule."""


class Connect4(BaseGame):
    """Actions are columns, written 1 to 7 from the left."""

    def __init__(self, options: Connect4Options) -> None:
        super().__init__("connect4", options)
        self.encodings: Mapping[str, Encoding] = {
            "stones": Encoding(
                name="stones",
                planes=("own stones", "opponent's stones", "ones"),
                height=ROWS,
                width=COLUMNS,
                num_constant_planes=1,
            )
        }
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=COLUMNS,
            observation_shape=self.encodings["stones"].shape,
            max_plies=COLUMNS * ROWS,
        )
        self.heads = Heads(policy=("dense",), value=("wdl", "scalar"), auxiliary=("moves_left",))
        mirrored = np.arange(COLUMNS, dtype=np.int32)[::-1].copy()
        self.symmetries: Sequence[Symmetry] = mirror_symmetries(self.encodings["stones"], mirrored)

    def initial_state(self) -> State:
        """The empty board."""
        return _native.ConnectFour()

    def parse_state(self, text: str) -> State:
        """Read rows from the top and the side to move, e.g. `7/7/7/7/3x3/2oxo2 x`."""
        return _native.ConnectFour.from_text(text)

    def format_state(self, state: State) -> str:
        """The inverse of `parse_state`."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a column 1 to 7."""
        if text not in ("1", "2", "3", "4", "5", "6", "7"):
            raise UserError(f"'{text}' is not a move; write a column, 1 to 7")
        action = int(text) - 1
        if not state.is_legal(action):
            raise UserError(
                f"column {text} is full" if state.result is None else "the game is over"
            )
        return action

    def format_action(self, state: State, action: int) -> str:
        """The column, 1 to 7."""
        return str(action + 1)

    def new_solver(self) -> Connect4Solver:
        """Exhaustive search; see `Connect4Solver` for what it costs."""
        return Connect4Solver()

    @property
    def sides(self) -> tuple[str, str]:
        """The colours, the first player's first."""
        return "Red", "Yellow"

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """A blue board with red (first player) and yellow stones."""
        planes = state.observe("stones")
        first, second = (planes[0], planes[1]) if state.to_play == 0 else (planes[1], planes[0])
        pieces = [
            [_RED if first[r, c] else _YELLOW if second[r, c] else None for c in range(COLUMNS)]
            for r in reversed(range(ROWS))
        ]
        highlight = frozenset[tuple[int, int]]()
        if last_action is not None:
            top = next(row for row in range(ROWS) if pieces[row][last_action])
            highlight = frozenset({(top, last_action)})
        return BoardPicture(
            pieces=pieces,
            column_labels=[str(c + 1) for c in range(COLUMNS)],
            row_labels=[" "] * ROWS,
            light="#3b66b0",
            dark="#3b66b0",
            highlight=highlight,
        )
