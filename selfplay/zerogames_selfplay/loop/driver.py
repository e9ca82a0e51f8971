"""The loop in turns: play, then learn, then play on with the new net.

On the cores of one machine turns waste nothing: the workers rest between two batches while the
trainer has all cores, and their games go on where they were.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from zerogames_selfplay.loop.learner import Glance, LearnerReport
from zerogames_selfplay.loop.run_state import Run
from zerogames_selfplay.players.counts import Counts

_POLL_S = 0.05
_SHOW_STEPS = 20
"""Training steps between two looks at the panel."""


class Players(Protocol):
    """Those who play: a `Worker` in this process, or Ray's."""

    @property
    def restarts(self) -> int:
        """Workers that died and were replaced."""

    def poll(self, timeout_s: float = 0.2) -> None:
        """Let some time pass."""

    def counts(self) -> Counts:
        """What was done."""

    def pause(self) -> None:
        """Rest, with every finished game written."""

    def resume(self) -> None:
        """Play on."""

    def use_net(self, net: Path) -> None:
        """Play on with another net."""

    def close(self) -> None:
        """Stop and write."""


class Studying(Protocol):
    """A `Learner` in this process, or Ray's."""

    @property
    def restarts(self) -> int:
        """How often it died and was replaced."""

    @property
    def net_name(self) -> str:
        """The architecture."""

    def report(self) -> LearnerReport:
        """Where it stands."""

    def write_net(self) -> Path:
        """The net that its weights make."""

    def note_rating(self, step: int, elo: float) -> None:
        """Remember how good a net is."""

    def finish(self, elapsed_s: float) -> None:
        """Write the last checkpoint of a session."""

    def study(
        self,
        *,
        elapsed_s: float,
        progress: float | None,
        max_steps: int | None = None,
        min_steps: int = 1,
        keep_on: Callable[[Glance], bool] | None = None,
    ) -> LearnerReport:
        """A round of training."""


def train_in_turns(run: Run, learner: Studying, players: Players) -> None:
    """Play and learn until a limit is reached or somebody stops the run."""
    while not run.finished:
        players.resume()
        before, begin = players.counts(), time.monotonic()
        _play(run, players)
        players.pause()
        seconds = time.monotonic() - begin
        run.status.selfplay_s += seconds
        run.status.selfplay = players.counts()
        run.status.restarts = players.restarts + learner.restarts
        if run.stop.is_set():
            break
        if _learn(run, learner):
            adopt_if_good(run, players)
            run.note_generation(run.status.selfplay.since(before), seconds)
            run.judge.follow(run)
            note_best(run, learner)


def note_best(run: Run, learner: Studying) -> None:
    """Tell the learner of new ratings: the checkpoint of the best net is kept."""
    while run.new_ratings:
        learner.note_rating(*run.new_ratings.pop())


def adopt_if_good(run: Run, players: Players) -> None:
    """Let the net of the last round play, unless a gate match says no."""
    report = run.report
    assert report.net is not None
    if run.passes_gate(report.net, report.step):
        players.use_net(run.adopt(report.net, report.step))


def _play(run: Run, players: Players) -> None:
    """Until enough is there for a round of training."""
    wanted = max(run.settings.generation_positions, run.report.missing_positions)
    first = players.counts().learnable
    begin, before_s = time.monotonic(), run.status.selfplay_s
    while not run.finished:
        counts = players.counts()
        played = counts.learnable - first
        if played >= wanted:
            break
        run.status.selfplay = counts
        run.status.selfplay_s = before_s + time.monotonic() - begin
        why = "the first training step" if run.report.missing_positions else "the next round"
        run.show("playing", f"{played:,} of {wanted:,} positions for {why}")
        players.poll(_POLL_S)
        run.judge.watch(run)
    run.status.selfplay_s = before_s


def _learn(run: Run, learner: Studying) -> bool:
    """A round of training; whether a net came out of it."""

    def keep_on(glance: Glance) -> bool:
        if glance.metrics and glance.step % _SHOW_STEPS == 1:
            run.status.metrics = glance.metrics
            run.show("learning", f"step {glance.step:,}, {glance.due_steps:,} more are due")
        return not run.stop.is_set()

    run.show("learning", "taking in new games")
    run.take_notes(
        learner.study(
            elapsed_s=run.status.elapsed_s,
            progress=run.progress,
            max_steps=run.steps_left,
            keep_on=keep_on,
        )
    )
    return run.report.net is not None
