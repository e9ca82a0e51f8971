"""Many self-play games in step, for any game.

Everything is deterministic for a seed. A pool may be used by one thread at a time; the GIL is
released inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
