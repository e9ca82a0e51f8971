"""What games have in common in which stones are placed on crossings and stay there."""

import numpy as np

from zerogames.base_game import BaseGame
from zerogames.game import GameSpec, Heads, PolicyMap, State
from zerogames.picture import BoardPicture, Piece
from zerogames.symmetry import square_symmetries
from zerogames_boards.grid import cell_name, letter_rows, one_encoding, read_cell, require_legal
from zerogames_boards.patterns import LINES

_STONES = {"x": Piece("x", "#101010"), "o": Piece("o", "#f8f8f8")}


class StoneGame(BaseGame):
    """Black (x) begins. A move is a crossing such as `h8`; row 1 is at the bottom.

    An action is row * size + column, the same for both sides.
    """

    patterns = LINES

    def __init__(
        self, name: str, options: object, size: int, condition: str, *, acts_again: bool = False
    ) -> None:
        """Set up the planes: own and the opponent's stones, where `condition` holds, ones."""
        super().__init__(name, options)
        self.size, cells = size, size * size
        planes = ("own stones", "opponent's stones", condition, "ones")
        self.encodings = one_encoding("stones", planes, size, size, num_constants=2)
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=cells,
            observation_shape=self.encodings["stones"].shape,
            max_plies=cells,
            acts_again=acts_again,
        )
        index = np.arange(cells, dtype=np.int32)
        self.heads = Heads(
            policy=("conv", "dense"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={"conv": PolicyMap(planes=1, index=index)},
        )
        self.symmetries = square_symmetries(size)

    def format_state(self, state: State) -> str:
        """Rows from the top, numbers for empty crossings, and the side to move."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a crossing such as `h8`."""
        row, column = read_cell(text, self.size, self.size)
        return require_legal(state, row * self.size + column, text)

    def format_action(self, state: State, action: int) -> str:
        """A crossing such as `h8`."""
        return cell_name(*divmod(action, self.size))

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """A board of crossings."""
        highlight = frozenset[tuple[int, int]]()
        if last_action is not None:
            row, column = divmod(last_action, self.size)
            highlight = frozenset({(self.size - 1 - row, column)})
        return BoardPicture(
            pieces=[[_STONES.get(letter) for letter in row] for row in letter_rows(state)],
            column_labels=[chr(ord("a") + column) for column in range(self.size)],
            row_labels=[str(self.size - row) for row in range(self.size)],
            light="#dcb35c",
            dark="#dcb35c",
            crossings=True,
            highlight=highlight,
        )
