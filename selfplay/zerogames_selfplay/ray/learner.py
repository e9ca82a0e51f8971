"""The learner as a Ray actor that is replaced when it dies.

A new learner goes on from the last checkpoint and takes in again what is on disk, so that a death
costs the round it happened in, nothing else.
"""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import ray
from ray.exceptions import RayActorError, RayTaskError

from zerogames.errors import UserError
from zerogames.registry import get_game
from zerogames_selfplay.loop.folder import TrainFolder
from zerogames_selfplay.loop.learner import Glance, Learner, LearnerReport
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.ray.players import task_cause

T = TypeVar("T")

_GLANCE_S = 0.5
_MAX_DEATHS = 5
"""A learner that dies so often in a row in the same round will not get better."""


class LearnerActor:
    """The remote side. One thread learns; another may ask how far it is, or stop it.

    Ray calls methods from threads of its own. OpenMP gives each of them a team, and no longer lets
    the teams wait actively when they have more threads than the machine has cores, which costs a
    third of the training's speed: so all of torch's work is done in one thread.
    """

    def __init__(self, settings: TrainSettings, folder: TrainFolder, threads: int) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._learner = self._do(lambda: _open_learner(settings, folder, threads))
        self._stop = threading.Event()

    def _do(self, work: Callable[[], T]) -> T:
        return self._thread.submit(work).result()

    def study(
        self, elapsed_s: float, progress: float | None, max_steps: int | None, min_steps: int
    ) -> LearnerReport:
        """See `Learner.study`."""
        return self._do(
            lambda: self._learner.study(
                elapsed_s=elapsed_s,
                progress=progress,
                max_steps=max_steps,
                min_steps=min_steps,
                keep_on=lambda glance: not self._stop.is_set(),
            )
        )

    def begin(self) -> tuple[LearnerReport, str, str]:
        """Where it stands, the net's name, and the file of the net it would play with."""
        net = self._do(self._learner.write_net)
        return self._learner.report(), self._learner.net_name, str(net)

    def glance(self) -> Glance:
        """How far the present round is."""
        return self._learner.glance()

    def stop(self) -> None:
        """End the present round early."""
        self._stop.set()

    def note_rating(self, step: int, elo: float) -> None:
        """See `Learner.note_rating`."""
        self._do(lambda: self._learner.note_rating(step, elo))

    def finish(self, elapsed_s: float) -> LearnerReport:
        """Write the last checkpoint."""
        self._do(lambda: self._learner.finish(elapsed_s))
        return self._learner.report()

    def pid(self) -> int:
        """Of its process."""
        return os.getpid()


def _open_learner(settings: TrainSettings, folder: TrainFolder, threads: int) -> Learner:
    import torch

    # Ray lets an actor have as many threads as it has CPUs of the cluster's account.
    torch.set_num_threads(threads)
    return Learner.open(settings, get_game(settings.game), folder)


class RayLearner:
    """The driver's side; the same methods as a `Learner`."""

    def __init__(self, settings: TrainSettings, folder: TrainFolder, *, threads: int) -> None:
        self._settings = settings
        self._folder = TrainFolder(path=folder.path.resolve(), session=folder.session)
        self._threads = threads
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self._gpus = 1 if resources.get("GPU") else 0
        self._actor: Any = None
        self._pending: Any = None
        self._arguments: tuple[Any, ...] = ()
        self._deaths = 0
        self.restarts = 0
        self._start()
        report, self.net_name, net = self._ask("begin")
        self._report: LearnerReport = report
        self._net = Path(net)

    def _start(self) -> None:
        remote: Any = ray.remote(num_cpus=1, num_gpus=self._gpus, max_restarts=0)(LearnerActor)
        self._actor = remote.options(max_concurrency=2).remote(
            self._settings, self._folder, self._threads
        )

    def report(self) -> LearnerReport:
        """Where it stood last."""
        return self._report

    @property
    def missing_positions(self) -> int:
        """Before the first step can be made."""
        return self._report.missing_positions

    def write_net(self) -> Path:
        """The net it began with."""
        return self._net

    def study(
        self,
        *,
        elapsed_s: float,
        progress: float | None,
        max_steps: int | None = None,
        min_steps: int = 1,
        keep_on: Callable[[Glance], bool] | None = None,
    ) -> LearnerReport:
        """See `Learner.study`; waits for the round, and for a new learner if this one dies."""
        self.begin_study(
            elapsed_s=elapsed_s, progress=progress, max_steps=max_steps, min_steps=min_steps
        )
        while (report := self.poll(_GLANCE_S)) is None:
            glance = self.glance()
            if glance is not None and keep_on is not None and not keep_on(glance):
                self.stop()
        return report

    def begin_study(
        self, *, elapsed_s: float, progress: float | None, max_steps: int | None, min_steps: int
    ) -> None:
        """Let a round begin; `poll` tells when it is over."""
        self._arguments = (elapsed_s, progress, max_steps, min_steps)
        self._pending = self._actor.study.remote(*self._arguments)

    @property
    def is_studying(self) -> bool:
        """Whether a round has begun and is not over."""
        return self._pending is not None

    def poll(self, timeout_s: float) -> LearnerReport | None:
        """The report of the round, once it is over; a dead learner's round begins again."""
        ready, _ = ray.wait([self._pending], timeout=timeout_s)
        if not ready:
            return None
        try:
            self._report = ray.get(self._pending)
        except RayTaskError as error:
            raise task_cause(error) from None
        except RayActorError:
            self._replace()
            self._pending = self._actor.study.remote(*self._arguments)
            return None
        self._pending = None
        self._deaths = 0
        return self._report

    def _replace(self) -> None:
        self._deaths += 1
        self.restarts += 1
        if self._deaths >= _MAX_DEATHS:
            raise UserError(
                f"the learner died {self._deaths} times in one round; see the logs of Ray, or "
                "train with --workers 0"
            )
        time.sleep(0.2)
        self._start()

    def glance(self) -> Glance | None:
        """How far the present round is, if the learner lives."""
        try:
            glance: Glance = ray.get(self._actor.glance.remote(), timeout=5)
        except (RayActorError, ray.exceptions.GetTimeoutError):
            return None
        return glance

    def stop(self) -> None:
        """End the present round early."""
        self._actor.stop.remote()

    def note_rating(self, step: int, elo: float) -> None:
        """Remember how good a net is."""
        self._ask("note_rating", step, elo)

    def finish(self, elapsed_s: float) -> None:
        """Write the last checkpoint."""
        self._report = self._ask("finish", elapsed_s)

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Call a method; a dead learner is replaced and asked again."""
        while True:
            try:
                return ray.get(getattr(self._actor, method).remote(*arguments))
            except RayTaskError as error:
                raise task_cause(error) from None
            except RayActorError as error:
                cause = getattr(error, "cause", None)
                if isinstance(cause, UserError | OSError):
                    raise cause from None
                self._replace()

    def pid(self) -> int:
        """Of the learner's process."""
        return int(self._ask("pid"))

    def close(self) -> None:
        """Free the actor."""
        ray.kill(self._actor)
