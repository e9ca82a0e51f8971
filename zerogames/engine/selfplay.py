"""Self-play in the calling thread: games as an iterator of records."""

from collections.abc import Iterator

from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.evaluate import Evaluator
from zerogames.game import Game
from zerogames.search import (
    Pool,
    PoolSettings,
    SearchSettings,
    new_pool,
    search_preset,
    take_finished,
)


def play_games(
    game: Game,
    evaluator: Evaluator,
    *,
    num_games: int | None,
    settings: SearchSettings | None = None,
    pool: PoolSettings | None = None,
    seed: int = 0,
) -> Iterator[GameRecord]:
    """Play games of a net against itself; yield each as soon as it has ended.

    The games are played in step, so that the evaluator gets batches; short games come first. The
    same arguments give the same games.

    Args:
        game: The game; every game starts from its initial state.
        evaluator: Evaluates the positions, such as one of `open_evaluator`.
        num_games: The number of games; None for games without end.
        settings: The search of each move; by default the preset `gumbel` with 32 simulations.
        pool: How games are begun and ended, and how many are in step.
        seed: Decides everything that is random.
    """
    if num_games is not None and num_games < 0:
        raise UserError(f"num_games must be 0 or more, not {num_games}")
    games = new_pool(
        game,
        settings or search_preset("gumbel", temperature_plies=20),
        pool or PoolSettings(),
        encoding=evaluator.encoding,
        seed=seed,
        num_games=num_games,
        needs_observation=evaluator.capabilities.needs_observation,
    )
    return _play(game, evaluator, games)


def _play(game: Game, evaluator: Evaluator, pool: Pool) -> Iterator[GameRecord]:
    while not pool.done:
        planes = pool.collect()
        if len(planes):
            pool.apply(*evaluator.evaluate(planes))
        for finished in take_finished(pool):
            yield finished.record(game, net=evaluator.version)
