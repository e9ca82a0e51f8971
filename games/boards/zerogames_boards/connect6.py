"""Connect6: two stones a turn."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from zerogames.game import State
from zerogames_boards import _native
from zerogames_boards.stones import StoneGame


@dataclass(frozen=True, kw_only=True)
class Connect6Options:
    """The board."""

    size: Annotated[int, Field(ge=6, le=19)] = 19
    """Rows and columns of the board."""


class Connect6(StoneGame):
    """Six in a row. Black places one stone, then each side two, as two actions."""

    def __init__(self, options: Connect6Options) -> None:
        super().__init__(
            "connect6", options, options.size, "the first of two stones", acts_again=True
        )

    def initial_state(self) -> State:
        """The empty board."""
        return _native.Connect6(self.size)

    def parse_state(self, text: str) -> State:
        """Read rows from the top and the side to move, e.g. `6/6/2x3/6/6/6 o`."""
        return _native.Connect6.from_text(self.size, text)
