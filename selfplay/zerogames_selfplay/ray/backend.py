"""Learner, rater and players of a run as Ray actors, on this machine or on a cluster."""

import contextlib
import os
from collections.abc import Iterator

from zerogames.runs.folder import RunPaths
from zerogames_selfplay.loop.backend import Backend
from zerogames_selfplay.loop.driver import ConcurrentDriver, Driver
from zerogames_selfplay.loop.run_state import RunState
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.players.players import Players, PlayersJob
from zerogames_selfplay.ray.connection import RayConnection
from zerogames_selfplay.ray.learner import RayLearner
from zerogames_selfplay.ray.players import RayPlayers
from zerogames_selfplay.ray.preflight import Needs
from zerogames_selfplay.ray.rater import RayRater

_OWN_CPUS = 2
"""CPUs in Ray's account for learner and rater, on the owner's node."""


@contextlib.contextmanager
def open_ray_backend(settings: TrainSettings, paths: RunPaths) -> Iterator[Backend]:
    """Actors on a local Ray, which work in turns, or on a cluster, where all work at once."""
    in_turns = settings.ray_address is None
    threads = settings.trainer.threads or ((os.cpu_count() or 1) if in_turns else 1)
    # One CPU each for the learner and the rater; in turns they do not need them at once.
    needs = Needs(game=settings.game, workers=settings.num_actors, own_cpus=_OWN_CPUS)
    with RayConnection(settings.ray_address, needs):
        learner = RayLearner(settings, paths, threads=threads)
        rater = RayRater(settings)
        if not in_turns:
            rater.start()  # Before the workers take all CPUs.

        def start_players(job: PlayersJob) -> Players:
            return RayPlayers(job, reserved_cpus=_OWN_CPUS)

        def new_driver(run: RunState, players: Players) -> Driver:
            driver = Driver if in_turns else ConcurrentDriver
            return driver(run, learner, rater, players)

        with contextlib.closing(learner):
            yield Backend(learner=learner, start_players=start_players, new_driver=new_driver)
