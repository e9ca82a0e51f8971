"""Gomoku: freestyle, standard, and Renju."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from zerogames.game import State
from zerogames_boards import _native
from zerogames_boards.stones import StoneGame


@dataclass(frozen=True, kw_only=True)
class GomokuOptions:
    """The board, and which rows win."""

    size: Annotated[int, Field(ge=5, le=19)] = 15
    """Rows and columns of the board."""
    rule: Literal["freestyle", "standard", "renju"] = "freestyle"
    """Five or more win (freestyle), or exactly five (standard). In Renju exactly five win for
    Black, who may not make six, two fours or two threes at once, and five or more for White."""


class Gomoku(StoneGame):
    """Five in a row."""

    def __init__(self, options: GomokuOptions) -> None:
        super().__init__("gomoku", options, options.size, "Black to move")
        self.rule = options.rule

    def initial_state(self) -> State:
        """The empty board."""
        return _native.Gomoku(self.size, self.rule)

    def parse_state(self, text: str) -> State:
        """Read rows from the top and the side to move, e.g. `5/5/2x2/5/5 o`."""
        return _native.Gomoku.from_text(self.size, self.rule, text)
