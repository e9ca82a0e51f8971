"""Othello on 4x4, 6x6 and 8x8."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zerogames.base_game import BaseGame
from zerogames.errors import UserError
from zerogames.game import Encoding, GameSpec, Heads, PolicyMap, State, Symmetry
from zerogames.picture import BoardPicture, Piece
from zerogames.symmetry import square_symmetries
from zerogames_classics import _native

_BLACK = Piece("x", "#101010")
_WHITE = Piece("o", "#f8f8f8")


@dataclass(frozen=True, kw_only=True)
class OthelloOptions:
    """Othello's only choice."""

    size: Literal[4, 6, 8] = 8
    """Rows and columns of the board."""


class Othello(BaseGame):
    """Actions are row * size + column, row 0 = rank 1 (printed on top); the last one passes."""

    def __init__(self, options: OthelloOptions) -> None:
        super().__init__("othello", options)
        self.size = size = int(options.size)
        self.encodings: Mapping[str, Encoding] = {
            "stones": Encoding(
                name="stones",
                planes=("own discs", "opponent's discs", "ones"),
                height=size,
                width=size,
                num_constant_planes=1,
            )
        }
        self.spec = GameSpec(
            name=self.name,
            identity=self.identity,
            action_size=size * size + 1,
            observation_shape=self.encodings["stones"].shape,
            max_plies=2 * size * size,
        )
        points = np.append(np.arange(size * size), -1).astype(np.int32)
        self.heads = Heads(
            policy=("dense", "conv"),
            value=("wdl", "scalar"),
            auxiliary=("moves_left",),
            policy_maps={"conv": PolicyMap(planes=1, index=points)},
        )
        self.symmetries: Sequence[Symmetry] = square_symmetries(size, num_other_actions=1)

    def initial_state(self) -> State:
        """Four discs in the middle, Black to move."""
        return _native.Othello(self.size)

    def parse_state(self, text: str) -> State:
        """Read rows from rank 1 and the side to move, e.g. `8/8/8/3ox3/3xo3/8/8/8 x`."""
        return _native.Othello.from_text(self.size, text)

    def format_state(self, state: State) -> str:
        """The inverse of `parse_state`."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read a square such as `d3`, or `pass`."""
        if text.lower() == "pass":
            action = self.size * self.size
        else:
            column = ord(text[0].lower()) - ord("a") if text else -1
            row = int(text[1:]) - 1 if text[1:].isdecimal() else -1
            if not (0 <= column < self.size and 0 <= row < self.size):
                raise UserError(f"'{text}' is not a move; write a square such as d3, or pass")
            action = row * self.size + column
        if not state.is_legal(action):
            raise UserError(f"'{text}' is not legal here")
        return action

    def format_action(self, state: State, action: int) -> str:
        """A square such as `d3`, or `pass`."""
        if action == self.size * self.size:
            return "pass"
        return f"{chr(ord('a') + action % self.size)}{action // self.size + 1}"

    @property
    def sides(self) -> tuple[str, str]:
        """The colours, the first player's first."""
        return "Black", "White"

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """A green board, rank 1 on top, with the count of discs."""
        planes = state.observe("stones")
        black, white = (planes[0], planes[1]) if state.to_play == 0 else (planes[1], planes[0])
        highlight = frozenset[tuple[int, int]]()
        if last_action is not None and last_action < self.size * self.size:
            highlight = frozenset({divmod(last_action, self.size)})
        return BoardPicture(
            pieces=[
                [
                    _BLACK if black[r, c] else _WHITE if white[r, c] else None
                    for c in range(self.size)
                ]
                for r in range(self.size)
            ],
            column_labels=[chr(ord("a") + c) for c in range(self.size)],
            row_labels=[str(r + 1) for r in range(self.size)],
            light="#2f8f57",
            dark="#2f8f57",
            highlight=highlight,
            caption=f"black {int(black.sum())}, white {int(white.sum())}",
        )
