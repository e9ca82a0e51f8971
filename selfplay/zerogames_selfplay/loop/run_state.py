"""The state of a training run: the nets that play, the ratings, the log, and the display.

Nothing here trains or plays: the driver lets learner, players and rater do that, and notes here
what they report.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zerogames.atomic import write_bytes_atomically
from zerogames.errors import UserError
from zerogames.nets.net_info import read_net_info
from zerogames.registry import get_game
from zerogames.runs.display import Display
from zerogames.runs.folder import RunFolder
from zerogames_selfplay.loop.display import generation_line, rating_text, training_frame
from zerogames_selfplay.loop.learner import Learner, LearnerReport
from zerogames_selfplay.loop.metrics import MetricsLog
from zerogames_selfplay.loop.rating import (
    Competitor,
    RatingBook,
    RatingJob,
    RatingResult,
    choose_opponents,
    rating_line,
)
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.loop.status import Status
from zerogames_selfplay.players.counts import Counts

_FIRST_RATING_S = 5.0
"""Expected seconds of the first rating."""


class RunState:
    """What the driver knows of a run."""

    def __init__(
        self,
        settings: TrainSettings,
        folder: RunFolder,
        learner: Learner,
        *,
        anchors: Sequence[Competitor],
        display: Display,
        stop: threading.Event,
    ) -> None:
        self.settings = settings
        self.paths = folder.paths
        self.stop = stop
        """Set by whoever wants the run to end."""
        self._session = folder.session
        self._display = display
        self._anchors = anchors
        report = learner.report()
        self.log = MetricsLog(folder.paths, step=report.step)
        ratings = self.log.ratings.lines
        self.book = RatingBook(reference=anchors[0].name if anchors else "")
        try:
            for line in ratings:
                self.book.add_line(line)
            rated = [(line["step"], line["elo"], line["low"], line["high"]) for line in ratings]
        except (ArithmeticError, KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder.paths.ratings}: damaged ({error!r:.100})") from None
        self.status = Status(
            game=get_game(settings.game).spec.identity,
            net=learner.net_name,
            limit_s=settings.limit_s,
            elapsed_before_s=report.elapsed_s,
            learner=report,
            losses=[line["loss"] for line in self.log.metrics.lines if line.get("loss")],
            ratings=rated,
        )
        self.playing_step = 0
        """The training step of the net that plays."""
        self.new_ratings: list[tuple[int, float]] = []
        """Step and Elo of nets whose ratings the learner was not told yet."""

    @property
    def report(self) -> LearnerReport:
        """The last report of the learner."""
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
        """Whether a limit is reached or the run was stopped."""
        return self.stop.is_set() or (self.progress or 0.0) >= 1

    @property
    def steps_left(self) -> int | None:
        """Training steps until the limit of steps."""
        if self.settings.steps is None:
            return None
        return max(0, self.settings.steps - self.report.step)

    def show(self, phase: str, reason: str = "") -> None:
        """Show the present work and its reason."""
        self.status.phase, self.status.reason = phase, reason
        self._display.show(training_frame(self.status))

    def greet(self, notes: Sequence[str] = ()) -> None:
        """Print what begins, and `notes` on what earlier sessions left."""
        report, search = self.report, self.settings.search
        begun = f"continuing at step {report.step:,}" if report.step else "a new run"
        self._display.line(
            f"{self.status.game}: net {self.status.net}, {search.algorithm} with "
            f"{search.simulations} simulations; {begun} in {self.paths.path}"
        )
        for note in notes:
            self._display.line(note)
        self.note_report(report)

    def note_report(self, report: LearnerReport) -> None:
        """Keep the learner's report; print what a person should know."""
        self.status.learner = report
        for note in report.notes:
            self._display.line(note)

    def first_net(self, fresh: Path) -> Path:
        """The net to begin with: the learner's own, `fresh`, or the one that played last.

        An older one plays on only where a gate match may have kept it; else the session before
        was killed between its last checkpoint and the copy of its net.
        """
        if self.paths.net.exists():
            step = read_net_info(self.paths.net).step
            if step == self.report.step or (self.settings.gate.pairs and step < self.report.step):
                self._note_playing(step)
                return self.paths.net
        return self.adopt(fresh, self.report.step)

    def adopt(self, net: Path, step: int) -> Path:
        """Make a net the one that plays; its file."""
        write_bytes_atomically(self.paths.net, net.read_bytes())
        self._note_playing(step)
        self._remove_old_nets()
        return self.paths.net

    def _note_playing(self, step: int) -> None:
        self.playing_step = step
        self.status.playing = f"step {step:,}"

    def _remove_old_nets(self) -> None:
        """Remove old nets without a rating."""
        rated = {int(line["step"]) for line in self.log.ratings.lines}
        steps = steps_in(self.paths.nets)
        kept = rated | set(steps[-max(1, self.settings.keep_nets) :]) | {self.playing_step}
        for step in steps:
            if step not in kept:
                self.paths.net_at(step).unlink(missing_ok=True)

    def note_gate(self, step: int, passed: bool, results: object) -> None:
        """Print the outcome of a gate match."""
        verdict = "plays from now on" if passed else "does not play yet"
        self._display.line(
            f"gate: step {step:,} {verdict} ({results} against {self.playing_step:,})"
        )

    def note_generation(self, selfplay: Counts, selfplay_s: float) -> None:
        """Write and print the metrics of a round of training.

        Args:
            selfplay: What was played since the round before.
            selfplay_s: The seconds that took.
        """
        report, status = self.report, self.status
        status.metrics = report.metrics
        status.losses.append(report.metrics["loss"])
        train_s = max(report.seconds, 1e-9)
        line: dict[str, Any] = {
            "time_s": round(status.elapsed_s, 2),
            "session": self._session,
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
        self.log.add_metrics(line)
        self._display.line(generation_line(status))

    @property
    def has_unrated_net(self) -> bool:
        """Whether the net that plays was trained and not rated yet."""
        lines = self.log.ratings.lines
        rated = lines[-1]["step"] if lines else 0
        return self.settings.rating.share > 0 and self.playing_step > rated

    def rating_is_due(self) -> bool:
        """Whether there is an unrated net, and rating has not had its share of the time."""
        lines = self.log.ratings.lines
        expected_s = float(lines[-1].get("seconds", 0.0)) if lines else _FIRST_RATING_S
        spent_s = float(sum(line.get("seconds", 0.0) for line in lines))
        allowed_s = self.settings.rating.share * self.status.elapsed_s - spent_s
        return self.has_unrated_net and allowed_s >= expected_s

    def rating_job(self) -> RatingJob:
        """The net that plays, and whom it should meet."""
        step, net = self.playing_step, self.paths.net_at(self.playing_step)
        nets = {
            int(line["step"]): path
            for line in self.log.ratings.lines
            if (path := self.paths.net_at(int(line["step"]))).exists()
        }
        opponents = choose_opponents(
            self._anchors, self.book, nets, step, self.settings.rating.earlier_nets
        )
        net = net if net.exists() else self.paths.net
        return RatingJob(step=step, net=net, opponents=opponents)

    def note_rating(self, result: RatingResult) -> None:
        """Write and print the rating of a net."""
        self.book.add(result.tallies)
        line = rating_line(self.book, result, time_s=self.status.elapsed_s)
        self.log.add_rating(line)
        self.new_ratings.append((result.step, line["elo"]))
        self.status.ratings.append((result.step, line["elo"], line["low"], line["high"]))
        games = ", ".join(f"{one.wdl} {one.b}" for one in result.tallies)
        self._display.line(f"rating: step {result.step:,} {rating_text(self.status)}; {games}")


def steps_in(folder: Path) -> list[int]:
    """The numbers of the `step-...` entries of a folder, ascending."""
    names = [path.name.partition(".")[0] for path in folder.glob("step-*")]
    return sorted(int(name[5:]) for name in names if name[5:].isdecimal())
