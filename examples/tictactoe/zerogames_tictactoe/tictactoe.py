"""Tic-tac-toe for the framework: sizes, texts, pictures, and what nets need to know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from zerogames_kernels import Pattern

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
from zerogames.symmetry import square_symmetries
from zerogames_tictactoe.rules import TicTacToeState


@dataclass(frozen=True, kw_only=True)
class TicTacToeOptions:
    """There are none; a field with a default and a docstring below it would be one."""


class TicTacToe(BaseGame):
    """Actions are cells, row by row from the bottom, written a1 to c3."""

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
        # On the one plane of a convolutional policy, the logit of an action lies on its cell.
        cells = np.arange(9, dtype=np.int32)
        self.heads = Heads(
            policy=("dense", "conv"),
            value=("wdl", "scalar"),
            policy_maps={"conv": PolicyMap(planes=1, index=cells)},
        )
        # Others: zerogames.symmetry.mirror_symmetries, or [identity_symmetry(...)] for none.
        self.symmetries: Sequence[Symmetry] = square_symmetries(3)

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        """Kernels with the shapes of the lines, for names of nets such as `mob_sd_2x16`."""
        steps = range(-2, 3)
        straight = {(0, step) for step in steps} | {(step, 0) for step in steps}
        diagonal = {(step, step) for step in steps} | {(step, -step) for step in steps}
        return {
            "s": Pattern("straight", tuple(sorted(straight))),
            "d": Pattern("diagonal", tuple(sorted(diagonal))),
        }

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
