"""One game from start to end."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Game, State, play_actions


@dataclass(frozen=True, kw_only=True, eq=False)
class GameRecord:
    """What was played and how it ended; positions are not stored but replayed."""

    game: str
    """Identity, e.g. `go:size=9`."""
    start: str = ""
    """The start position as `Game.format_state` writes it; empty for the initial one."""
    actions: NDArray[np.int32]
    """`[plies]`."""
    result: float | None
    """First player's view; None when unknown or unfinished."""
    reason: str = ""
    """Why the game ended."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Headers of the file it came from or will be written to."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """By ply: the text after the move with that index; -1 for the text before the first."""

    def start_state(self, game: Game) -> State:
        """The position before the first action."""
        return game.parse_state(self.start) if self.start else game.initial_state()

    def final_state(self, game: Game) -> State:
        """The position after the last action."""
        return play_actions(self.start_state(game), [int(action) for action in self.actions])
