"""A run of supervised training: batches in, checkpoints, metrics and a net out."""

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console

from zerogames.data.sample import SampleBatch
from zerogames.data.sources import Source
from zerogames.data.split import Selection
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import Model, save_net
from zerogames.nets.summary import count_trainable
from zerogames.pretrain.card import write_card
from zerogames.pretrain.settings import KIND, PretrainSettings
from zerogames.pretrain.validation_set import ValidationSet
from zerogames.registry import get_game
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.display import Display, Frame, clock
from zerogames.runs.folder import RunFolder, RunPaths
from zerogames.runs.metrics_log import Events, JsonLines
from zerogames.runs.net_source import check_resumed_net, find_net
from zerogames.runs.signals import stop_on_signals
from zerogames.train import CheckpointFolder, Trainer, validate


def train(settings: PretrainSettings, console: Console, stop: threading.Event) -> RunPaths:
    """Train until a limit, Ctrl-C (which sets `stop`) or an error; then the net is on disk."""
    with (
        name_disk_errors(settings.folder),
        Display(console) as display,
        contextlib.closing(PretrainRun(settings, display, stop)) as run,
        stop_on_signals(stop),
    ):
        run.run()
    return run.paths


class PretrainRun:
    """Trains until a limit or until `stop` is set; the trained net is on disk afterwards.

    The same settings in the same folder continue from the newest checkpoint. The data is then read
    in another order: which positions were seen is not remembered. The folder is locked until
    `close`.
    """

    def __init__(self, settings: PretrainSettings, display: Display, stop: threading.Event) -> None:
        """Open the folder, the net and the data; a run that is refused leaves the folder as is."""
        settings.check()
        self.settings = settings
        self.display = display
        self.stop = stop
        self.game = get_game(settings.game)
        for path in settings.data:
            if not path.exists():
                raise UserError(f"{path}: no such file or folder")
        self._folder = RunFolder(
            settings.folder, kind=KIND, game=self.game.spec.identity, settings=settings.table()
        )
        self.paths = self._folder.paths
        with self._folder.released_on_error():
            self._checkpoints = CheckpointFolder(
                self.paths.checkpoints, keep_last=settings.keep_checkpoints
            )
            self.trainer, self._earlier_s = self._open_trainer()
            self._folder.begin()
            self.metrics = JsonLines(self.paths.metrics, last_step=self.trainer.step)
        self._events = Events(self.paths.path, step=self.trainer.step)
        self._unplaced = _unplaced_actions(self.game, self.trainer.model)
        self._started = time.perf_counter()
        self._waited_s = 0.0
        self._reports: list[dict[str, float]] = []
        """One for each step since the last line of metrics."""
        self._line: dict[str, Any] = {}
        self._last_checkpoint = time.perf_counter()
        self._reported = (time.perf_counter(), self.trainer.samples, 0.0)

    def close(self) -> None:
        """Let another command have the folder."""
        self._folder.close()

    def _open_trainer(self) -> tuple[Trainer, float]:
        """The trainer of the newest checkpoint, or a new one, and the seconds trained so far."""
        settings = self.settings.trainer_settings()
        resumed = self._checkpoints.resume(game=self.game, settings=settings)
        if resumed is None:
            folder = self.paths.checkpoints
            if folder.is_dir() and any(folder.iterdir()):
                raise UserError(f"{self.paths.path}: its checkpoints are gone; give another --out")
            source = find_net(self.settings.net or self.game.default_net, self.game)
            model, _ = source.load(seed=self.settings.seed)
            return Trainer(model, self.game, settings), 0.0
        for note in resumed.refused:
            self.display.line(f"{note}; continuing from an older checkpoint")
        trained = resumed.trainer.model.spec.name
        check_resumed_net(self.settings.net, trained, self.paths.path, self.game)
        elapsed = resumed.extra.get("elapsed_s", 0.0)
        return resumed.trainer, float(elapsed) if isinstance(elapsed, int | float) else 0.0

    @property
    def elapsed_s(self) -> float:
        """Seconds of all sessions."""
        return self._earlier_s + time.perf_counter() - self._started

    @property
    def progress(self) -> float:
        """Share of the run that is over."""
        return self.settings.progress(elapsed_s=self.elapsed_s, step=self.trainer.step)

    def run(self) -> None:
        """Train to the end, or to the next stop."""
        settings = self.settings
        source = self._source()
        self.display.line(f"{self.game.spec.identity}: {source.describe()}")
        model = self.trainer.model
        net = f"{model.spec.name} ({count_trainable(model):,} parameters)"
        begun = f"continuing at step {self.trainer.step:,}" if self.trainer.step else "a new run"
        self.display.line(f"net {net}; {begun} in {self.paths.path}")
        if self.progress >= 1:
            self.display.line("already done; a larger --minutes or --steps continues from here")
            return
        held_out = ValidationSet(self._source(), settings.validation)
        usual, last = held_out.num_usual, len(held_out)
        at_the_end = f", at the end {last:,}," if last > usual else ""
        self.display.line(
            f"validation on {usual:,} positions{at_the_end} of {held_out.num_games:,} games"
        )
        # Time for reading the validation set is no time of training.
        self._started = time.perf_counter()
        with self._stream(source) as stream:
            self._learn(stream, held_out)
        problems = source.problems
        if problems.count:
            name, reason = problems.named[0]
            self.display.line(f"skipped {problems.count:,}, e.g. {name}: {reason}")

    def _source(self) -> Source:
        settings = self.settings
        return Source(
            settings.data,
            self.game,
            encoding=self.trainer.model.spec.encoding,
            on_problem=settings.reading.on_problem,
            engine_values=settings.reading.engine_values,
        )

    def _stream(self, source: Source) -> SampleStream:
        settings, reading = self.settings, self.settings.reading
        # A session that continues a run must not see the first session's positions again.
        seed = (settings.seed * 1_000_003 + self.trainer.step) & 0x7FFFFFFF
        selection = Selection(
            part="train",
            validation_share=settings.validation.share,
            keep=reading.keep,
            per_game=reading.per_game,
            seed=seed,
        )
        options = StreamOptions(
            batch_size=settings.trainer.batch_size,
            shuffle_buffer=reading.shuffle_buffer,
            symmetries=reading.symmetries,
            epochs=None,
            workers=reading.workers,
            seed=seed,
        )
        return SampleStream(source, selection, options)

    def _learn(self, stream: SampleStream, held_out: ValidationSet) -> None:
        settings, trainer = self.settings, self.trainer
        # By the clock only where the clock is the limit.
        by_clock = settings.steps is None
        validated = False
        while not self.stop.is_set() and self.progress < 1:
            before = time.perf_counter()
            batch = next(stream)
            self._waited_s += time.perf_counter() - before
            self._leave_out(batch)
            progress = self.progress if by_clock else None
            self._reports.append(trainer.train_step(batch, progress=progress))
            self.display.show(self._frame())
            if trainer.step % settings.report_every == 0:
                self._report()
            validated = trainer.step % settings.validation.every == 0 and self.progress < 1
            if validated:
                self._validate(held_out, final=False)
            elif time.perf_counter() - self._last_checkpoint > 60 * settings.checkpoint_minutes:
                self._save()
        if self.progress >= 1:
            self._validate(held_out, final=True)
        elif not validated:
            self._write_net({})
            self._save()

    def _frame(self) -> Frame:
        """What the display shows: the newest line of metrics, once there is one."""
        line, done = self._line, self.progress
        share = self._waited_s / max(1e-9, time.perf_counter() - self._started)
        waiting = f"{share:.0%} waiting for data"  # of this session's time
        if not line:
            return Frame(done=done, title=waiting)
        rate = f"{line['train_samples_per_s']:,.0f} positions/s"
        return Frame(
            done=done,
            title=f"{rate}, {waiting}",
            line=f"{clock(line['time_s'])} step {line['step']:,}: loss {line['loss']:.3f}, "
            f"accuracy {line['policy_accuracy']:.2%}, value MSE {line['value_mse']:.3f}, {rate}, "
            f"{line['waiting_share']:.0%} waiting for data",
        )

    def _leave_out(self, batch: SampleBatch) -> SampleBatch:
        """Give no weight to moves that the net cannot express: passes, for the papers' Go nets."""
        if len(self._unplaced):
            batch.weights[batch.policy[:, self._unplaced].any(axis=1)] = 0
        return batch

    def _report(self) -> None:
        """A line of means since the last one."""
        since, samples, waited = self._reported
        seconds = max(1e-9, time.perf_counter() - since)
        line: dict[str, Any] = {
            "time_s": round(self.elapsed_s, 1),
            "step": self.trainer.step,
            "samples": self.trainer.samples,
            **{name: fmean(one[name] for one in self._reports) for name in self._reports[0]},
            "learning_rate": self._reports[-1]["learning_rate"],
            "train_samples_per_s": (self.trainer.samples - samples) / seconds,
            "waiting_share": (self._waited_s - waited) / seconds,
        }
        self._reports.clear()
        self._reported = (time.perf_counter(), self.trainer.samples, self._waited_s)
        self.metrics.add(line)
        self._events.add("train", line)
        self._line = line

    def _validate(self, held_out: ValidationSet, *, final: bool) -> None:
        trainer = self.trainer
        playing = trainer.playing_model()
        playing.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        figures = self._measure(playing, held_out.batches())
        self._events.add("validation", {"step": trainer.step, **figures})
        line = {"time_s": round(self.elapsed_s, 1), "step": trainer.step, "validation": figures}
        score = figures["policy_accuracy"]
        if final and len(held_out) > held_out.num_usual:
            figures = line["final_validation"] = self._measure(
                playing, held_out.batches(final=True)
            )
            self._events.add("final_validation", {"step": trainer.step, **figures})
        self.metrics.add(line)
        # The checkpoint last: a run that is over is not continued, and would keep an older net.
        self._write_net(figures, playing)
        self._save(score=score)
        self.display.line(_validation_line(trainer.step, figures))
        # The rate of steps shall not count the time of validation.
        self._reported = (time.perf_counter(), trainer.samples, self._waited_s)
        self._reports.clear()

    def _measure(self, model: Model, batches: Iterable[SampleBatch]) -> dict[str, float]:
        return validate(
            model,
            map(self._leave_out, batches),
            search_value_share=self.settings.trainer.search_value_share,
        )

    def _save(self, *, score: float | None = None) -> None:
        self._checkpoints.save(self.trainer, {"elapsed_s": self.elapsed_s}, score=score)
        self._last_checkpoint = time.perf_counter()

    def _write_net(self, figures: dict[str, float], playing: Model | None = None) -> None:
        playing = playing or self.trainer.playing_model()
        shown = {name: value for name, value in figures.items() if "/" not in name}
        save_net(
            self.paths.net,
            playing,
            step=self.trainer.step,
            metrics=shown,
            data_licence=self.settings.licence,
        )
        write_card(self.paths, self.settings, playing, self.trainer, shown, self.elapsed_s)


def _validation_line(step: int, figures: Mapping[str, float]) -> str:
    phases = ", ".join(
        f"{name.partition('/')[0]} {value:.1%}"
        for name, value in figures.items()
        if name.endswith("/policy_accuracy")
    )
    return (
        f"step {step:,}: validation accuracy {figures['policy_accuracy']:.2%}"
        f"{f' ({phases})' if phases else ''}, value MSE {figures['value_mse']:.4f} "
        f"(/4: {figures['value_mse_quarter']:.4f}), policy loss {figures['policy_loss']:.3f}"
    )


def _unplaced_actions(game: Game, model: Model) -> NDArray[np.intp]:
    """Actions that the net gives no logit of its own."""
    maps = game.heads.policy_maps
    if model.spec.pass_logit or "conv" not in maps:
        return np.empty(0, np.intp)
    return np.flatnonzero(np.asarray(maps["conv"].index) < 0)
