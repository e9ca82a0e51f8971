"""Who decides about nets: rating them now and then, and gate matches."""

import time
from pathlib import Path
from typing import Protocol

from zerogames.arena.results import Wdl
from zerogames_selfplay.loop.rating import Rater
from zerogames_selfplay.loop.run_state import Run
from zerogames_selfplay.loop.settings import GateSettings


class Judge(Protocol):
    """Plays rating games here and now, or lets a Ray actor play them beside everything else."""

    def follow(self, run: Run) -> None:
        """Called after each round of training: rate the net that plays if it is time."""

    def watch(self, run: Run) -> None:
        """Called often: note what has come in."""

    def finish(self, run: Run) -> None:
        """Rate the last net."""

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """Whether a new net does well enough against the one that plays."""


class JudgeHere:
    """Everything in this thread."""

    def __init__(self, rater: Rater) -> None:
        self._rater = rater

    def follow(self, run: Run) -> None:
        """Play the games if it is time."""
        if run.rating_is_due() and not run.finished:
            self._rate(run)

    def watch(self, run: Run) -> None:
        """Nothing comes in by itself."""

    def finish(self, run: Run) -> None:
        """Rate the last net."""
        if run.has_unrated_net and not run.stop.is_set():
            self._rate(run)

    def _rate(self, run: Run) -> None:
        step, begin = run.playing_step, time.monotonic()
        tallies = self._rater.rate(
            step,
            run.net_to_rate,
            run.rating_opponents(),
            stop=run.stop,
            on_match=lambda name: run.show("rating", f"step {step:,} plays against {name}"),
        )
        if not run.stop.is_set():
            run.note_rating(step, tallies, time.monotonic() - begin)

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """Play the gate match."""
        return self._rater.passes_gate(candidate, champion, gate)
