"""The learner as a Ray actor, on the node that has the run's folder.

A new learner continues from the last checkpoint and reads again what is on disk, so that a death
costs the round it happened in, nothing else.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import ray
from ray.exceptions import GetTimeoutError, RayActorError

from zerogames.registry import get_game
from zerogames.runs.folder import RunPaths
from zerogames_selfplay.loop.learner import KeepOn, LearnerReport, RoundProgress, TrainRound
from zerogames_selfplay.loop.local_learner import LocalLearner
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.ray.connection import on_own_node, own_resources
from zerogames_selfplay.ray.supervised_actor import ActorDied, CallLost, SupervisedActor

T = TypeVar("T")

_PROGRESS_S = 0.5
"""Seconds between two looks at the progress of a round."""


class LearnerActor:
    """The remote side. One thread learns; another may ask for the progress, or stop the round.

    Ray calls methods from threads of its own. OpenMP gives each of them a team, and no longer lets
    the teams wait actively when they have more threads than the machine has cores, which costs a
    third of the training's speed: so all of torch's work is done in one thread.
    """

    def __init__(self, settings: TrainSettings, paths: RunPaths, threads: int) -> None:
        self._settings = settings
        self._paths = paths
        self._num_threads = threads
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._learner: LocalLearner | None = None
        self._stop = threading.Event()

    def _do(self, work: Callable[[LocalLearner], T]) -> T:
        return self._thread.submit(lambda: work(self._opened())).result()

    def _opened(self) -> LocalLearner:
        # Not opened in __init__, so that its errors are those of a call.
        if self._learner is None:
            import torch

            # Ray lets an actor have as many threads as it has CPUs of the cluster's account.
            torch.set_num_threads(self._num_threads)
            game = get_game(self._settings.game)
            self._learner = LocalLearner(self._settings, game, self._paths)
        return self._learner

    def open(self) -> tuple[LearnerReport, str]:
        """The state and the net's name."""
        return self._do(lambda learner: (learner.report(), learner.net_name))

    def write_net(self) -> Path:
        """See `Learner.write_net`."""
        return self._do(LocalLearner.write_net)

    def train_round(self, order: TrainRound) -> LearnerReport:
        """See `Learner.train_round`."""
        return self._do(
            lambda learner: learner.train_round(order, lambda progress: not self._stop.is_set())
        )

    def round_progress(self) -> RoundProgress | None:
        """The state of the present round."""
        return None if self._learner is None else self._learner.round_progress()

    def stop_round(self) -> None:
        """End the present round after its present step."""
        self._stop.set()

    def note_rating(self, step: int, elo: float) -> None:
        """See `Learner.note_rating`."""
        self._do(lambda learner: learner.note_rating(step, elo))

    def finish(self, elapsed_s: float) -> LearnerReport:
        """Write the last checkpoint."""

        def finish(learner: LocalLearner) -> LearnerReport:
            learner.finish(elapsed_s)
            return learner.report()

        return self._do(finish)

    def pid(self) -> int:
        """The actor's process."""
        return os.getpid()


class RayLearner:
    """A learner in an actor: the `BackgroundLearner` of the driver's process."""

    def __init__(self, settings: TrainSettings, paths: RunPaths, *, threads: int) -> None:
        num_gpus = 1 if own_resources().get("GPU") else 0
        remote: Any = ray.remote(num_cpus=1, num_gpus=num_gpus, max_restarts=0)(LearnerActor)
        remote = remote.options(max_concurrency=2, scheduling_strategy=on_own_node())
        paths = RunPaths(paths.path.resolve())
        self._actor = SupervisedActor(
            "the learner", lambda restarts: remote.remote(settings, paths, threads)
        )
        self._order: TrainRound | None = None
        self._pending: Any = None
        self._report: LearnerReport
        self._report, self.net_name = self._actor.ask("open")

    @property
    def restarts(self) -> int:
        """How often it died and was replaced."""
        return self._actor.restarts

    @property
    def is_training(self) -> bool:
        """Whether a round has begun and its report was not taken."""
        return self._order is not None

    def report(self) -> LearnerReport:
        """The state after the last round."""
        return self._report

    def write_net(self) -> Path:
        """Write the net of the present weights, if it is not written yet; its file."""
        net: Path = self._actor.ask("write_net")
        return net

    def train_round(self, order: TrainRound, keep_on: KeepOn) -> LearnerReport:
        """Train a round and wait for its end; begin it again if the actor dies."""
        self.begin_round(order)
        while (report := self.poll(_PROGRESS_S)) is None:
            progress = self._round_progress()
            if progress is not None and not keep_on(progress):
                self.stop_round()
        return report

    def begin_round(self, order: TrainRound) -> None:
        """Begin a round; `poll` tells when it is over."""
        self._order = order
        self._pending = self._actor.call("train_round", order)

    def poll(self, timeout_s: float) -> LearnerReport | None:
        """The report of the round once it is over; begins the round again if the actor died."""
        ready, _ = ray.wait([self._pending], timeout=timeout_s)
        if not ready:
            return None
        try:
            self._report = self._actor.result(self._pending)
        except (ActorDied, CallLost):
            assert self._order is not None
            self.begin_round(self._order)
            return None
        self._order = None
        self._actor.note_progress()
        return self._report

    def _round_progress(self) -> RoundProgress | None:
        """The state of the present round, if the actor lives."""
        try:
            progress: RoundProgress = ray.get(self._actor.call("round_progress"), timeout=5)
        except (RayActorError, GetTimeoutError):
            return None  # If it died, `poll` replaces it.
        return progress

    def stop_round(self) -> None:
        """End the round after the present step."""
        self._actor.call("stop_round")

    def note_rating(self, step: int, elo: float) -> None:
        """Note how strong a net is: the checkpoint of the best one is kept."""
        self._actor.ask("note_rating", step, elo)

    def finish(self, elapsed_s: float) -> None:
        """Write the last checkpoint of a session."""
        self._report = self._actor.ask("finish", elapsed_s)

    def pid(self) -> int:
        """The actor's process."""
        return int(self._actor.ask("pid"))

    def close(self) -> None:
        """Free the actor."""
        self._actor.kill()
