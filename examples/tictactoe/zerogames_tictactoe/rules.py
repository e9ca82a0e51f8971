"""The rules of tic-tac-toe: an immutable state."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerogames import UserError
from zerogames.errors import unknown_name

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
