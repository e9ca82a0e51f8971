"""The rater as a Ray actor, beside the learner."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray

from zerogames.arena.results import Wdl
from zerogames.registry import get_game
from zerogames_selfplay.loop.rating import RatingJob, RatingResult
from zerogames_selfplay.loop.rating_matches import RatingMatches
from zerogames_selfplay.loop.settings import GateSettings, TrainSettings
from zerogames_selfplay.ray.connection import on_own_node
from zerogames_selfplay.ray.supervised_actor import ActorDied, CallLost, SupervisedActor


class RaterActor:
    """The remote side."""

    def __init__(self, settings: TrainSettings) -> None:
        self._matches = RatingMatches(get_game(settings.game), settings, threads=1)

    def rate(self, job: RatingJob) -> RatingResult:
        """See `RatingMatches.rate`."""
        return self._matches.rate(job)

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """See `RatingMatches.passes_gate`."""
        return self._matches.passes_gate(candidate, champion, gate)


class RayRater:
    """A rater in an actor, which is made when it is first needed; one rating at a time."""

    def __init__(self, settings: TrainSettings) -> None:
        remote: Any = ray.remote(num_cpus=1, max_restarts=0)(RaterActor)
        remote = remote.options(scheduling_strategy=on_own_node())
        self._actor = SupervisedActor("the rater", lambda restarts: remote.remote(settings))
        self._pending: Any = None

    def start(self) -> None:
        """Make the actor now."""
        self._actor.start()

    @property
    def restarts(self) -> int:
        """How often it died and was replaced."""
        return self._actor.restarts

    @property
    def is_rating(self) -> bool:
        """Whether a rating has begun and its result was not taken."""
        return self._pending is not None

    def begin(self, job: RatingJob, on_match: Callable[[str], None]) -> None:
        """Begin to rate a net; nobody waits, so `on_match` is not called."""
        opponents = [
            other if other.net is None else replace(other, net=other.net.resolve())
            for other in job.opponents
        ]
        job = replace(job, net=job.net.resolve(), opponents=opponents)
        self._pending = self._actor.call("rate", job)

    def poll(self, timeout_s: float = 0.0) -> RatingResult | None:
        """Take the result once it is there; a rating whose rater died has none."""
        if not ray.wait([self._pending], timeout=timeout_s)[0]:
            return None
        pending, self._pending = self._pending, None
        try:
            result: RatingResult = self._actor.result(pending)
        except (ActorDied, CallLost):
            return None
        self._actor.note_progress()
        return result

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """Wait for the gate match: whether the candidate scores enough, and its results."""
        passed, wdl = self._actor.ask("passes_gate", candidate.resolve(), champion.resolve(), gate)
        return bool(passed), wdl
