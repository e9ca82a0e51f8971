"""The games that a pool has finished, and the records made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from zerogames.data.record import VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.game import Game, State
from zerogames.search._search import Pool


@dataclass(frozen=True, kw_only=True, eq=False)
class FinishedGame:
    """One self-play game as the pool gives it out."""

    index: int
    """Number of the game; with the pool's seed it decides all that is random in it."""
    seed: int
    """Derived from both."""
    net_version: int
    """The pool's when the game began."""
    start_index: int
    """Which of the pool's start positions, -1 for the initial one."""
    result: float
    """First player's view."""
    reason: str
    """Why it ended: the game's own reason, `resignation` or `ply limit`."""
    never_resign: bool
    """It was one of those played to the end."""
    would_resign_ply: int
    """First ply at which a player wanted to resign, or -1."""
    lowest_values: tuple[float, float]
    """Lowest root value that each player saw in own turns, for tuning `resign_value`."""
    actions: NDArray[np.int32]
    """`[plies]`."""
    best_actions: NDArray[np.int32]
    """`[plies]`: what the search thought best."""
    simulations: NDArray[np.int32]
    """`[plies]`: visits of the root's children."""
    search: SearchColumns
    """What was found at each ply, player to move's view."""

    @classmethod
    def from_columns(cls, columns: dict[str, object]) -> Self:
        """Build a game from the columns that the native pool gives."""
        fields = dict(columns)
        offsets = cast("NDArray[np.int32]", fields.pop("policy_offsets"))
        search: dict[str, object] = {
            "policy_offsets": offsets.astype(np.int64),
            "values": {name: fields.pop(name) for name in VALUE_COLUMNS},
        }
        for name in ("policy_actions", "policy_visits", "policy_targets", "surprise", "kinds"):
            search[name] = fields.pop(name)
        return cls(search=SearchColumns(**search), **fields)  # type: ignore[arg-type]

    def record(self, game: Game, *, starts: Sequence[State] = (), net: str = "") -> GameRecord:
        """As a record; `starts` are the pool's."""
        start = game.format_state(starts[self.start_index]) if self.start_index >= 0 else ""
        return GameRecord(
            game=game.spec.identity,
            start=start,
            actions=self.actions,
            result=self.result,
            reason=self.reason,
            seed=self.seed,
            net=net,
            search=self.search,
        )


def take_finished(pool: Pool) -> list[FinishedGame]:
    """Take the games that ended since the last call out of the pool."""
    return [FinishedGame.from_columns(columns) for columns in pool.take_finished()]
