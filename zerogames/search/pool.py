"""Many self-play games in step, for any game.

Everything is deterministic for a seed. A pool may be used by one thread at a time; the GIL is
released inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Game, State
from zerogames.memory import require_mebibytes
from zerogames.search.adapter import bound_game
from zerogames.search.leaves import LeafSource
from zerogames.search.settings import PoolSettings, SearchSettings


class Pool(LeafSource, Protocol):
    """Many games in step, one leaf each per batch; done when all `num_games` were played."""

    def collect(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Run every game to its next leaf; their planes `[B, P, H, W]`, B <= `capacity`.

        The array is a view of a buffer that is used again, or of `out`. Games that end give no
        leaf in that call, so B may be 0 while the pool is not done.
        """

    def take_finished(self) -> list[dict[str, object]]:
        """The columns of the games that ended since the last call; see `take_finished`."""

    @property
    def capacity(self) -> int:
        """Parallel games."""

    @property
    def num_simulations(self) -> int:
        """Visits of root children, summed over moves."""

    @property
    def num_evaluations(self) -> int:
        """Rows that were given out."""

    @property
    def num_moves(self) -> int:
        """Moves played after the random ones."""

    @property
    def num_games(self) -> int:
        """Games ended."""

    @property
    def num_never_resign(self) -> int:
        """Games ended that were not allowed to resign."""

    @property
    def num_would_resign(self) -> int:
        """Those among them in which a player wanted to."""

    @property
    def num_wrong_resigns(self) -> int:
        """Those among these that this player did not lose."""

    @property
    def resign_value(self) -> float:
        """See `PoolSettings`; may be changed as false resignations are counted."""

    @resign_value.setter
    def resign_value(self, value: float) -> None: ...


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
