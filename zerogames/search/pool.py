"""Many self-play games in step, for any game.

Everything is deterministic for a seed. A pool may be used by one thread at a time; the GIL is
released inside.
"""

from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Game, State
from zerogames.search import _search
from zerogames.search.search import is_native
from zerogames.search.settings import PoolSettings, SearchSettings


class Pool(Protocol):
    """Many games in step, one leaf each per batch."""

    def collect(self, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Run every game to its next leaf; their planes `[B, P, H, W]`, B <= `capacity`.

        The array is a view of a buffer that is used again, or of `out`. Games that end give no
        leaf in that call, so B may be 0 while the pool is not done.
        """

    def apply(
        self,
        policy_logits: NDArray[np.float32],
        wdl: NDArray[np.float32],
        moves_left: NDArray[np.float32] | None = None,
    ) -> None:
        """Go on with the net's `[B, A]` logits, `[B, 3]` probabilities and `[B]` plies left."""

    def take_finished(self) -> list[dict[str, object]]:
        """The columns of the games that ended since the last call; see `take_finished`."""

    @property
    def done(self) -> bool:
        """All `num_games` were played."""

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
    def cache_hits(self) -> int:
        """Leaves found in the evaluation cache."""

    @property
    def cache_misses(self) -> int:
        """Leaves not found there."""

    @property
    def tree_bytes(self) -> int:
        """Memory set aside for all trees."""

    @property
    def net_version(self) -> int:
        """Part of the cache's key, and noted in games that begin: change it with the net."""

    @net_version.setter
    def net_version(self, version: int) -> None: ...

    @property
    def resign_value(self) -> float:
        """See `PoolSettings`; may be changed as false resignations are counted."""

    @resign_value.setter
    def resign_value(self, value: float) -> None: ...


def new_pool(
    game: Game,
    search: SearchSettings,
    settings: PoolSettings,
    *,
    encoding: str | None = None,
    seed: int = 0,
    starts: Sequence[State] = (),
    num_games: int | None = None,
    first_game: int = 0,
    game_step: int = 1,
    needs_observation: bool = True,
) -> Pool:
    """Make a pool that plays games `first_game`, `first_game + game_step`, ... from `seed`.

    Each game starts from one of `starts`, drawn by its own seed, or from the initial state. Games
    do not depend on `parallel_games` nor on the order in which they are played, as long as the
    net's answers do not depend on the batch. `num_games=None` never ends.
    """
    initial = game.initial_state()
    encoding = next(iter(game.encodings)) if encoding is None else encoding
    if is_native(initial):
        made = type(initial).Pool(  # type: ignore[attr-defined]
            initial,
            search,
            settings,
            encoding=encoding,
            seed=seed,
            starts=list(starts),
            num_games=num_games,
            first_game=first_game,
            game_step=game_step,
            needs_observation=needs_observation,
        )
        return cast(Pool, made)
    size = game.spec.action_size
    return _search.PythonGamePool(
        _search.PythonGame(initial, size),
        search,
        settings,
        encoding=encoding,
        seed=seed,
        starts=[_search.PythonGame(start, size) for start in starts],
        num_games=num_games,
        first_game=first_game,
        game_step=game_step,
        needs_observation=needs_observation,
    )
