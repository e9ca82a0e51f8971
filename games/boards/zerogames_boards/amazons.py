"""The Game of the Amazons: a turn is three actions of one side."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from zerogames.base_game import BaseGame
from zerogames.game import GameSpec, Heads, PolicyMap, State
from zerogames.picture import BoardPicture, Piece
from zerogames.symmetry import square_symmetries
from zerogames_boards import _native
from zerogames_boards.grid import cell_name, letter_rows, one_encoding, read_cell, require_legal
from zerogames_boards.patterns import QUEENS

_PIECES = {
    "w": Piece("w", "#f8f8f8", glyph="♛"),
    "b": Piece("b", "#101010", glyph="♛"),
    "x": Piece("x", "#8a4b2a", glyph="✕"),
}


@dataclass(frozen=True, kw_only=True)
class AmazonsOptions:
    """The board."""

    size: Annotated[int, Field(ge=4, le=10)] = 10
    """Rows and columns of the board."""


class Amazons(BaseGame):
    """White (w) begins. A turn is written as three cells, one for each action: `d1`, `d7`, `g7`.

    They are the amazon, where it goes, and where it shoots. An action is row * size + column with
    row 0 at the bottom, the same for both sides.
    """

    patterns = QUEENS

    def __init__(self, options: AmazonsOptions) -> None:
        super().__init__("amazons", options)
        self.size = size = options.size
        planes = ("own amazons", "opponent's amazons", "arrows", "amazon of this turn")
        stages = ("it moves", "it shoots", "ones")
        self.encodings = one_encoding("queens", planes + stages, size, size, num_constants=3)
        cells = size * size
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=cells,
            observation_shape=self.encodings["queens"].shape,
            max_plies=3 * (cells - 8),
            acts_again=True,
        )
        index = np.arange(cells, dtype=np.int32)
        self.heads = Heads(
            policy=("conv", "dense"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={"conv": PolicyMap(planes=1, index=index)},
        )
        self.symmetries = square_symmetries(size)

    def initial_state(self) -> State:
        """Four amazons each, White to choose one."""
        return _native.Amazons(self.size)

    def parse_state(self, text: str) -> State:
        """Read rows from the top, numbers for empty cells, and the side to move.

        Within a turn `move` or `shoot` and the amazon's cell follow: `3w/1b2/x3/4 b move b3`.
        """
        return _native.Amazons.from_text(self.size, text)

    def format_state(self, state: State) -> str:
        """The inverse of `parse_state`."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a cell such as `d1`."""
        row, column = read_cell(text, self.size, self.size)
        return require_legal(state, row * self.size + column, text)

    def format_action(self, state: State, action: int) -> str:
        """A cell such as `d1`."""
        return cell_name(*divmod(action, self.size))

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """White's side below; the caption says what the side to move has to do."""
        size, (_, side, *stage) = self.size, str(state).split()
        caption = f"{'white' if side == 'w' else 'black'} to move"
        if stage:
            caption += f": {stage[1]} {stage[0]}s"
        highlight = frozenset[tuple[int, int]]()
        if last_action is not None:
            highlight = frozenset({(size - 1 - last_action // size, last_action % size)})
        return BoardPicture(
            pieces=[[_PIECES.get(letter) for letter in row] for row in letter_rows(state)],
            column_labels=[chr(ord("a") + column) for column in range(size)],
            row_labels=[str(size - row) for row in range(size)],
            dark="#b58863",
            highlight=highlight,
            caption="" if state.result is not None else caption,
        )
