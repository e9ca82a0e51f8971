"""Learner, rater and players of a run, in this process; `zerogames_selfplay.ray` has Ray's."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from zerogames.game import Game
from zerogames.runs.folder import RunPaths
from zerogames_selfplay.loop.driver import Driver
from zerogames_selfplay.loop.learner import Learner
from zerogames_selfplay.loop.local_learner import LocalLearner
from zerogames_selfplay.loop.rater import LocalRater
from zerogames_selfplay.loop.rating_matches import RatingMatches
from zerogames_selfplay.loop.run_state import RunState
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.players.players import Players, PlayersJob
from zerogames_selfplay.players.worker import Worker


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Where a run is worked on."""

    learner: Learner
    start_players: Callable[[PlayersJob], Players]
    new_driver: Callable[[RunState, Players], Driver]


@contextlib.contextmanager
def open_local_backend(
    settings: TrainSettings, game: Game, paths: RunPaths, stop: threading.Event
) -> Iterator[Backend]:
    """All in this process, in turns."""
    learner = LocalLearner(settings, game, paths)
    rater = LocalRater(RatingMatches(game, settings, threads=os.cpu_count() or 1, stop=stop))
    try:
        yield Backend(
            learner=learner,
            start_players=Worker,
            new_driver=lambda run, players: Driver(run, learner, rater, players),
        )
    finally:
        learner.close()
