"""Many self-play games in step, for any game, and the records made of the finished ones.

Everything is deterministic for a seed. A pool may be used by one thread at a time; the GIL is
released inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from zerogames.data.record import VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.game import Game, State
from zerogames.memory import require_mebibytes
from zerogames.search._search import Pool
from zerogames.search.adapter import bound_game
from zerogames.search.settings import PoolSettings, SearchSettings


@dataclass(frozen=True, kw_only=True)
class PoolGames:
    """Which games a pool plays: numbers `first_game`, `first_game + game_step`, ..."""

    seed: int = 0
    """With a game's number it decides all that is random in the game."""
    num_games: int | None = None
    """Games to play; None never ends."""
    starts: Sequence[State] = ()
    """Each game starts from one of these, drawn by its own seed; none: from the initial state."""
    first_game: int = 0
    """Number of the first game."""
    game_step: int = 1
    """Distance between the numbers of two games."""


def new_pool(
    game: Game,
    search: SearchSettings,
    settings: PoolSettings,
    games: PoolGames | None = None,
    *,
    encoding: str | None = None,
    needs_observation: bool = True,
) -> Pool:
    """Make a pool that plays `games`; by default without end, from seed 0.

    Games do not depend on `parallel_games` nor on the order in which they are played, as long as
    the net's answers do not depend on the batch.
    """
    require_mebibytes("the evaluation cache", search.cache_mebibytes)
    encoding = next(iter(game.encodings)) if encoding is None else encoding
    initial = bound_game(game, game.initial_state())
    return initial.Pool(
        initial,
        search,
        settings,
        games or PoolGames(),
        encoding=encoding,
        needs_observation=needs_observation,
    )


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
