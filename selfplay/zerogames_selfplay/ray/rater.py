"""Rating as a Ray actor, beside everything else."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from zerogames.arena.results import Tally, Wdl
from zerogames.registry import get_game
from zerogames_selfplay.loop.rating import Opponent, Rater
from zerogames_selfplay.loop.run_state import Run
from zerogames_selfplay.loop.settings import GateSettings, TrainSettings
from zerogames_selfplay.ray.players import task_cause

_POLL_S = 0.5


class RaterActor:
    """The remote side."""

    def __init__(self, settings: TrainSettings) -> None:
        self._rater = Rater(get_game(settings.game), settings, threads=1)

    def rate(
        self, step: int, net: Path, opponents: list[Opponent]
    ) -> tuple[int, list[Tally], float]:
        """See `Rater.rate`; with the seconds it took."""
        begin = time.monotonic()
        tallies = self._rater.rate(step, net, opponents)
        return step, tallies, time.monotonic() - begin

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """See `Rater.passes_gate`."""
        return self._rater.passes_gate(candidate, champion, gate)


class RayJudge:
    """The driver's side: one rating at a time; a rater that dies is replaced."""

    def __init__(self, settings: TrainSettings) -> None:
        self._settings = settings
        self._remote = ray.remote(num_cpus=1, max_restarts=0)(RaterActor)
        self._actor: Any = None
        self._pending: Any = None

    def _living(self) -> Any:
        if self._actor is None:
            self._actor = self._remote.remote(self._settings)
        return self._actor

    def follow(self, run: Run) -> None:
        """Begin to rate the net that plays if it is time."""
        if self._pending is None and run.rating_is_due() and not run.finished:
            self._begin(run)

    def _begin(self, run: Run) -> None:
        opponents = [
            other if other.net is None else replace(other, net=other.net.resolve())
            for other in run.rating_opponents()
        ]
        self._pending = self._living().rate.remote(
            run.playing_step, run.net_to_rate.resolve(), opponents
        )

    def watch(self, run: Run, timeout_s: float = 0.0) -> None:
        """Note a rating that has ended."""
        if self._pending is None:
            return
        ready, _ = ray.wait([self._pending], timeout=timeout_s)
        if not ready:
            return
        pending, self._pending = self._pending, None
        try:
            step, tallies, seconds = ray.get(pending)
        except RayTaskError as error:
            raise task_cause(error) from None
        except RayActorError:
            self._actor = None
            return
        run.note_rating(step, tallies, seconds)

    def finish(self, run: Run) -> None:
        """Wait for what is going on, then rate the last net."""
        self._wait(run)
        if run.has_unrated_net and not run.stop.is_set():
            self._begin(run)
            self._wait(run)

    def _wait(self, run: Run) -> None:
        while self._pending is not None and not run.stop.is_set():
            run.show("rating", "the last games")
            self.watch(run, _POLL_S)

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """Wait for the gate match."""
        while True:
            try:
                passed, wdl = ray.get(
                    self._living().passes_gate.remote(candidate.resolve(), champion.resolve(), gate)
                )
            except RayTaskError as error:
                raise task_cause(error) from None
            except RayActorError:
                self._actor = None
                continue
            return bool(passed), wdl
