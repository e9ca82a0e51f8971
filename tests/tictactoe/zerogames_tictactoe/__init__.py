"""Tic-tac-toe in pure Python: the example of `docs/adding_a_game.md`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerogames import (
    BaseGame,
    BoardPicture,
    Encoding,
    GamePlugin,
    GameSpec,
    Heads,
    Piece,
    PolicyMap,
    State,
    Symmetry,
    UserError,
)
from zerogames.errors import unknown_name
from zerogames.symmetry import square_symmetries

LINES = (
    *[(3 * row, 3 * row + 1, 3 * row + 2) for row in range(3)],
    *[(column, column + 3, column + 6) for column in range(3)],
    (0, 4, 8),
    (2, 4, 6),
)


@dataclass(frozen=True)
class TicTacToeState:
    """Nine cells, each `x`, `o` or `.`, row by row from the bottom; x moves first."""

    cells: str = "." * 9
    plies: int = 0

    @property
    def to_play(self) -> int:
        """0 for x, 1 for o."""
        return self.cells.count("x") - self.cells.count("o")

    def _winner(self) -> str:
        for line in LINES:
            first = self.cells[line[0]]
            if first != "." and all(self.cells[cell] == first for cell in line):
                return first
        return ""

    @property
    def result(self) -> float | None:
        """First player's view."""
        winner = self._winner()
        if winner:
            return 1.0 if winner == "x" else -1.0
        return None if "." in self.cells else 0.0

    @property
    def end_reason(self) -> str:
        """Empty while the game is not over."""
        return "three in a row" if self._winner() else "" if "." in self.cells else "board full"

    def legal_actions(self) -> NDArray[np.int32]:
        """The empty cells."""
        if self.result is not None:
            return np.empty(0, np.int32)
        return np.array([i for i, cell in enumerate(self.cells) if cell == "."], np.int32)

    def is_legal(self, action: int) -> bool:
        """Whether the cell is empty and the game is not over."""
        return 0 <= action < 9 and self.cells[action] == "." and self.result is None

    def play(self, action: int) -> "TicTacToeState":
        """Put the mover's sign on a cell."""
        if not self.is_legal(action):
            raise UserError(f"action {action} is not legal here")
        sign = "xo"[self.to_play]
        cells = f"{self.cells[:action]}{sign}{self.cells[action + 1 :]}"
        return TicTacToeState(cells, self.plies + 1)

    def observe(self, encoding: str, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Own signs, the opponent's."""
        if encoding != "signs":
            raise unknown_name("encoding", encoding, ["signs"])
        planes = np.empty((2, 3, 3), np.float32) if out is None else out
        board = np.array(list(self.cells)).reshape(3, 3)
        planes[0] = board == "xo"[self.to_play]
        planes[1] = board == "ox"[self.to_play]
        return planes

    @property
    def position_key(self) -> int:
        """The board as a number in base 3."""
        return int(self.cells.replace(".", "0").replace("x", "1").replace("o", "2"), 3)

    @property
    def observation_key(self) -> int:
        """The encoder reads nothing but the board."""
        return self.position_key


@dataclass(frozen=True, kw_only=True)
class TicTacToeOptions:
    """There are none."""


class TicTacToe(BaseGame):
    """Actions are cells, written a1 to c3."""

    def __init__(self, options: TicTacToeOptions) -> None:
        super().__init__("tictactoe", options)
        signs = Encoding(name="signs", planes=("own", "opponent's"), height=3, width=3)
        self.encodings: Mapping[str, Encoding] = {"signs": signs}
        self.spec = GameSpec(
            name="tictactoe",
            identity=self.identity,
            action_size=9,
            observation_shape=signs.shape,
            in_python=True,
            max_plies=9,
        )
        cells = np.arange(9, dtype=np.int32)
        self.heads = Heads(
            policy=("dense", "conv"),
            value=("wdl", "scalar"),
            policy_maps={"conv": PolicyMap(planes=1, index=cells)},
        )
        self.symmetries: Sequence[Symmetry] = square_symmetries(3)

    def initial_state(self) -> State:
        """The empty board."""
        return TicTacToeState()

    def parse_state(self, text: str) -> State:
        """Read nine signs, rows from the bottom, e.g. `x.o......`."""
        state = TicTacToeState(text)
        if len(text) != 9 or set(text) - set("xo."):
            raise UserError("a position is nine of x, o and . from the bottom row up")
        if state.to_play not in (0, 1):
            raise UserError("x moves first, so x has as many signs as o or one more")
        return state

    def format_state(self, state: State) -> str:
        """The nine signs."""
        assert isinstance(state, TicTacToeState)
        return state.cells

    def parse_action(self, state: State, text: str) -> int:
        """Read a cell."""
        if len(text) != 2 or text[0] not in "abc" or text[1] not in "123":
            raise UserError(f"'{text[:20]}' is not a move; write a cell, a1 to c3")
        action = "123".index(text[1]) * 3 + "abc".index(text[0])
        if not state.is_legal(action):
            raise UserError(f"'{text}' is not legal here")
        return action

    def format_action(self, state: State, action: int) -> str:
        """A cell."""
        return f"{'abc'[action % 3]}{action // 3 + 1}"

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """Crosses and noughts."""
        assert isinstance(state, TicTacToeState)
        signs = {"x": Piece("x", "#202020", glyph="X"), "o": Piece("o", "#202020", glyph="O")}
        return BoardPicture(
            pieces=[[signs.get(state.cells[3 * r + c]) for c in range(3)] for r in (2, 1, 0)],
            column_labels="abc",
            row_labels="321",
        )


game = GamePlugin(name="tictactoe", title="TicTacToe", options=TicTacToeOptions, create=TicTacToe)
