"""Nim with native rules, compiled outside zerogames: see `docs/adding_a_game.md`."""

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
    State,
    Symmetry,
    UserError,
)

from . import _native


@dataclass(frozen=True, kw_only=True)
class NimOptions:
    """There are none."""


class Nim(BaseGame):
    """Moves are written heap-matches, e.g. `2-3`."""

    def __init__(self, options: NimOptions) -> None:
        super().__init__("nim", options)
        heaps = Encoding(name="heaps", planes=("matches",), height=3, width=4)
        self.encodings = {"heaps": heaps}
        self.spec = GameSpec(
            name="nim",
            identity=self.identity,
            action_size=12,
            observation_shape=heaps.shape,
            max_plies=11,
        )
        self.heads = Heads(policy=("dense",), value=("wdl", "scalar"))
        cells = np.arange(12, dtype=np.int32)
        self.symmetries = [Symmetry("identity", cells, cells)]

    @property
    def patterns(self) -> dict[str, Pattern]:
        """A heap is a row: `mob_r_2x16` sees the matches beside each other."""
        return {"r": Pattern("row", tuple((0, step) for step in range(-2, 3)))}

    @property
    def default_net(self) -> str:
        """Two blocks of row kernels."""
        return "mob_r_2x16"

    def initial_state(self) -> State:
        """Heaps of 3, 4 and 4."""
        return _native.Nim()

    def parse_state(self, text: str) -> State:
        """Read e.g. `344 0`."""
        return _native.Nim.from_text(text)

    def format_state(self, state: State) -> str:
        """Heaps and side to move."""
        return str(state)

    def parse_action(self, state: State, text: str) -> int:
        """Read e.g. `2-3`."""
        if len(text) != 3 or text[0] not in "123" or text[1] != "-" or text[2] not in "1234":
            raise UserError(f"'{text[:20]}' is not a move; write heap-matches, e.g. 2-3")
        action = 4 * (int(text[0]) - 1) + int(text[2]) - 1
        if not state.is_legal(action):
            raise UserError(f"heap {text[0]} has fewer than {text[2]} matches")
        return action

    def format_action(self, state: State, action: int) -> str:
        """Heap-matches."""
        return f"{action // 4 + 1}-{action % 4 + 1}"

    def render(self, state: State, *, last_action: int | None = None) -> BoardPicture:
        """Rows of matches."""
        match = Piece("|", "#202020", glyph="|")
        planes = state.observe("heaps")[0]
        return BoardPicture(
            pieces=[[match if cell else None for cell in row] for row in planes],
            column_labels="1234",
            row_labels="123",
        )


game = GamePlugin(name="nim", title="Nim", options=NimOptions, create=Nim)
