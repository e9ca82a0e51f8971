"""A training run as its driver sees it: the folder, the nets that play, ratings, and the journal.

The driver does not train and does not play; its crew does, in this process or as Ray's actors.
"""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from zerogames.atomic import write_bytes_atomically
from zerogames.game import Game
from zerogames.nets.net_info import read_net_info
from zerogames_selfplay.loop.display import TrainPanel, generation_line, rating_text
from zerogames_selfplay.loop.folder import TrainFolder, steps_in
from zerogames_selfplay.loop.learner import LearnerReport
from zerogames_selfplay.loop.metrics import Journal
from zerogames_selfplay.loop.rating import (
    Opponent,
    RatingBook,
    choose_opponents,
    rating_anchors,
    rating_line,
)
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.loop.status import Status
from zerogames_selfplay.players.counts import Counts

if TYPE_CHECKING:
    from zerogames_selfplay.loop.judge import Judge

_FIRST_RATING_S = 5.0
"""What the first rating is expected to cost."""


class Run:
    """The state of the driver."""

    def __init__(
        self,
        settings: TrainSettings,
        game: Game,
        folder: TrainFolder,
        console: Console,
        report: LearnerReport,
        *,
        net_name: str,
        judge: "Judge",
    ) -> None:
        self.settings = settings
        self.game = game
        self.folder = folder
        self.panel = TrainPanel(console)
        self.stop = threading.Event()
        """Set by Ctrl-C and SIGTERM."""
        self.journal = Journal(folder.path, step=report.step)
        self.judge = judge
        self._anchors = rating_anchors(game, settings.rating)
        self.book = RatingBook(reference=self._anchors[0].name if self._anchors else "")
        for line in self.journal.ratings.lines:
            self.book.add_line(line)
        self.status = Status(
            game=game.spec.identity,
            net=net_name,
            limit_s=settings.limit_s,
            elapsed_before_s=report.elapsed_s,
            learner=report,
            losses=[line["loss"] for line in self.journal.metrics.lines if line.get("loss")],
            ratings=[
                (line["step"], line["elo"], line["low"], line["high"])
                for line in self.journal.ratings.lines
            ],
        )
        self.playing_step = 0
        self.new_ratings: list[tuple[int, float]] = []
        """Step and Elo, which the learner has not heard of."""

    @property
    def report(self) -> LearnerReport:
        """The learner's last word."""
        assert self.status.learner is not None
        return self.status.learner

    @property
    def progress(self) -> float | None:
        """Share of the run that is over."""
        self.status.progress = self.settings.progress(
            elapsed_s=self.status.elapsed_s,
            step=self.report.step,
            generation=self.report.generation,
        )
        return self.status.progress

    @property
    def finished(self) -> bool:
        """Whether a limit is reached or somebody wants to stop."""
        return self.stop.is_set() or (self.progress or 0.0) >= 1

    @property
    def steps_left(self) -> int | None:
        """Until the limit of steps."""
        if self.settings.steps is None:
            return None
        return max(0, self.settings.steps - self.report.step)

    def show(self, phase: str, reason: str = "") -> None:
        """Tell what is done now and why."""
        self.status.phase, self.status.reason = phase, reason
        self.panel.show(self.status)

    def take_notes(self, report: LearnerReport) -> None:
        """Remember where the learner stands; print what a person should know."""
        self.status.learner = report
        for note in report.notes:
            self.panel.line(note)

    def first_net(self, fresh: Path) -> Path:
        """The net to play with: the one that played last, or the learner's own, `fresh`."""
        if self.folder.net.exists():
            step = read_net_info(self.folder.net).step
            if step <= self.report.step:
                self.playing_step = step
                self.status.playing = f"step {step:,}"
                return self.folder.net
        return self.adopt(fresh, self.report.step)

    def adopt(self, net: Path, step: int) -> Path:
        """Let a net play from now on."""
        write_bytes_atomically(self.folder.net, net.read_bytes())
        self.playing_step = step
        self.status.playing = f"step {step:,}"
        self._drop_nets()
        return self.folder.net

    def passes_gate(self, net: Path, step: int) -> bool:
        """Whether a new net may play; always, without a gate."""
        gate = self.settings.gate
        if not gate.pairs:
            return True
        self.show("gate", f"the net of step {step:,} plays against that of {self.playing_step:,}")
        passed, wdl = self.judge.passes_gate(net, self.folder.net, gate)
        verdict = "plays from now on" if passed else "does not play yet"
        self.panel.line(f"gate: step {step:,} {verdict} ({wdl} against {self.playing_step:,})")
        return passed

    def _drop_nets(self) -> None:
        """Old nets that nobody rated go."""
        rated = {int(line["step"]) for line in self.journal.ratings.lines}
        steps = steps_in(self.folder.nets)
        kept = rated | set(steps[-max(1, self.settings.keep_nets) :]) | {self.playing_step}
        for step in steps:
            if step not in kept:
                self.folder.net_at(step).unlink(missing_ok=True)

    def note_generation(self, selfplay: Counts, selfplay_s: float) -> None:
        """Write and print the figures of a round of training.

        Args:
            selfplay: Played since the round before.
            selfplay_s: The time that took.
        """
        report, status = self.report, self.status
        status.metrics = report.metrics
        status.losses.append(report.metrics["loss"])
        train_s = max(report.seconds, 1e-9)
        line: dict[str, Any] = {
            "time_s": round(status.elapsed_s, 2),
            "session": self.folder.session,
            "generation": report.generation,
            "step": report.step,
            "samples": report.samples,
            "games": report.games,
            "positions": report.positions,
            "window": report.window,
            **{name: round(value, 6) for name, value in report.metrics.items()},
            "learning_rate": report.metrics["learning_rate"],
            "selfplay_positions_per_s": round(selfplay.learnable / max(selfplay_s, 1e-9), 2),
            "selfplay_evaluations_per_s": round(selfplay.evaluations / max(selfplay_s, 1e-9), 1),
            "selfplay_s": round(selfplay_s, 3),
            "train_samples_per_s": round(report.steps * report.samples / report.step / train_s, 1),
            "train_s": round(train_s, 3),
            "games_per_h": round(3600 * report.games / max(status.elapsed_s, 1e-9), 1),
            "mean_plies": round(selfplay.mean_length, 2),
            "set_aside": report.set_aside,
        }
        self.journal.add_metrics(line)
        self.panel.line(generation_line(status))

    @property
    def rating_s(self) -> float:
        """Spent on rating so far."""
        return float(sum(line.get("seconds", 0.0) for line in self.journal.ratings.lines))

    @property
    def has_unrated_net(self) -> bool:
        """Whether the net that plays has learnt something and was not rated yet."""
        lines = self.journal.ratings.lines
        rated = lines[-1]["step"] if lines else 0
        return self.settings.rating.share > 0 and self.playing_step > rated

    def rating_is_due(self) -> bool:
        """Whether there is a new net and time was set aside to rate it."""
        lines = self.journal.ratings.lines
        expected = float(lines[-1].get("seconds", 0.0)) if lines else _FIRST_RATING_S
        allowance = self.settings.rating.share * self.status.elapsed_s - self.rating_s
        return self.has_unrated_net and allowance >= expected

    @property
    def net_to_rate(self) -> Path:
        """The file of the net that plays, under a name that stays."""
        net = self.folder.net_at(self.playing_step)
        return net if net.exists() else self.folder.net

    def rating_opponents(self) -> list[Opponent]:
        """Whom the net that plays should meet."""
        nets = {
            int(line["step"]): path
            for line in self.journal.ratings.lines
            if (path := self.folder.net_at(int(line["step"]))).exists()
        }
        return choose_opponents(
            self._anchors, self.book, nets, self.playing_step, self.settings.rating.earlier_nets
        )

    def note_rating(self, step: int, tallies: list[Any], seconds: float) -> None:
        """Write and print what rating games said."""
        self.book.add(tallies)
        line = rating_line(
            self.book, tallies, step=step, time_s=self.status.elapsed_s, seconds=seconds
        )
        self.journal.add_rating(line)
        self.new_ratings.append((step, line["elo"]))
        self.status.ratings.append((step, line["elo"], line["low"], line["high"]))
        games = ", ".join(f"{one.wdl} {one.b}" for one in tallies)
        self.panel.line(f"rating: step {step:,} {rating_text(self.status)}; {games}")
