"""A run of supervised training: batches in, checkpoints, metrics and a net out."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zerogames.data.sample import SampleBatch
from zerogames.data.sources import Source
from zerogames.data.split import Selection
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import Model, build_model, save_net
from zerogames.nets.foreign import load_any_net, net_suffixes
from zerogames.pretrain.card import write_card
from zerogames.pretrain.folder import PretrainFolder, open_folder, run_path
from zerogames.pretrain.progress import ProgressDisplay
from zerogames.pretrain.settings import PretrainSettings
from zerogames.pretrain.validation_set import ValidationSet
from zerogames.runs.metrics_log import Events, JsonLines
from zerogames.train import CheckpointFolder, Trainer, validate


class PretrainRun:
    """Learns until a limit or until `stop` is set; what was learnt is on disk afterwards.

    The same settings in the same folder go on from the newest checkpoint. The data is then read in
    another order: which positions were seen is not remembered.
    """

    def __init__(
        self, settings: PretrainSettings, display: ProgressDisplay, stop: threading.Event
    ) -> None:
        from zerogames.registry import get_game

        settings.check()
        self.settings = settings
        self.display = display
        self.stop = stop
        self.game = get_game(settings.game)
        for path in settings.data:
            if not path.exists():
                raise UserError(f"{path}: no such file or folder")
        first = None if _has_checkpoints(settings) else first_model(settings, self.game)
        self.folder: PretrainFolder = open_folder(settings, self.game)
        self._checkpoints = CheckpointFolder(
            self.folder.checkpoints, keep_last=settings.keep_checkpoints
        )
        self.trainer, self._earlier_s = self._open_trainer(first)
        self._unplaced = _unplaced_actions(self.game, self.trainer.model)
        self._started = time.perf_counter()
        self._waited_s = 0.0
        self.metrics = JsonLines(self.folder.metrics, last_step=self.trainer.step)
        self._events = Events(self.folder.path, step=self.trainer.step)
        self._sums: dict[str, float] = defaultdict(float)
        self._count = 0
        self._last_checkpoint = time.perf_counter()
        self._reported = (time.perf_counter(), self.trainer.samples, 0.0)

    def _open_trainer(self, first: Model | None) -> tuple[Trainer, float]:
        settings = self.settings.trainer_settings()
        if first is not None:
            return Trainer(first, self.game, settings), 0.0
        resumed = self._checkpoints.resume(game=self.game, settings=settings)
        if resumed is None:
            raise UserError(f"{self.folder.path}: its checkpoints are gone; give another --out")
        for note in resumed.refused:
            self.display.line(f"{note}; going on from an older checkpoint")
        self._check_net(resumed.trainer)
        elapsed = resumed.extra.get("elapsed_s", 0.0)
        return resumed.trainer, float(elapsed) if isinstance(elapsed, int | float) else 0.0

    def _check_net(self, trainer: Trainer) -> None:
        asked, name = self.settings.net, trainer.model.spec.name
        if asked is None or _is_file(asked) or self.game.parse_net(asked).name == name:
            return
        raise UserError(f"{self.folder.path} trains {name}, not {asked}; give another --out")

    @property
    def elapsed_s(self) -> float:
        """Seconds of all sessions."""
        return self._earlier_s + time.perf_counter() - self._started

    @property
    def progress(self) -> float:
        """Share of the run that is over."""
        return self.settings.progress(elapsed_s=self.elapsed_s, step=self.trainer.step)

    @property
    def waiting_share(self) -> float:
        """Share of this session's time in which the net waited for data."""
        return self._waited_s / max(1e-9, time.perf_counter() - self._started)

    def run(self) -> None:
        """Train to the end, or to the next stop."""
        settings = self.settings
        source = self._source()
        self.display.line(f"{self.game.spec.identity}: {source.describe()}")
        model = self.trainer.model
        count = sum(parameter.numel() for parameter in model.parameters())
        begun = f"going on at step {self.trainer.step:,}" if self.trainer.step else "a new run"
        self.display.line(
            f"net {model.spec.name} ({count:,} parameters); {begun} in {self.folder.path}"
        )
        if self.progress >= 1:
            self.display.line("already done; a larger --minutes or --steps goes on from here")
            return
        held_out = ValidationSet(self._source(), settings.validation)
        usual, last = held_out.num_usual, len(held_out)
        in_the_end = f", in the end {last:,}," if last > usual else ""
        self.display.line(
            f"validation on {usual:,} positions{in_the_end} of {held_out.num_games:,} games"
        )
        # Time for reading the validation set is no time of training.
        self._started = time.perf_counter()
        try:
            with self._stream(source) as stream:
                self._learn(stream, held_out)
        finally:
            self._events.close()
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
        # A session that goes on must not see the first session's positions again.
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
            report = trainer.train_step(batch, progress=self.progress if by_clock else None)
            for name, value in report.items():
                self._sums[name] += value
            self._count += 1
            self.display.show(self)
            if trainer.step % settings.report_every == 0:
                self._report(report["learning_rate"])
            validated = trainer.step % settings.validation.every == 0 and self.progress < 1
            if validated:
                self._validate(held_out, final=False)
            elif time.perf_counter() - self._last_checkpoint > 60 * settings.checkpoint_minutes:
                self._save()
        if self.progress >= 1:
            self._validate(held_out, final=True)
        elif not validated:
            self._save()
            self._write_net({})

    def _leave_out(self, batch: SampleBatch) -> SampleBatch:
        """Give no weight to moves that the net cannot express: passes, for the papers' Go nets."""
        if len(self._unplaced):
            batch.weights[batch.policy[:, self._unplaced].any(axis=1)] = 0
        return batch

    def _report(self, learning_rate: float) -> None:
        """A line of means since the last one."""
        since, samples, waited = self._reported
        seconds = max(1e-9, time.perf_counter() - since)
        line: dict[str, Any] = {
            "time_s": round(self.elapsed_s, 1),
            "step": self.trainer.step,
            "samples": self.trainer.samples,
            **{name: total / self._count for name, total in self._sums.items()},
            "learning_rate": learning_rate,
            "train_samples_per_s": (self.trainer.samples - samples) / seconds,
            "waiting_share": (self._waited_s - waited) / seconds,
        }
        self._sums.clear()
        self._count = 0
        self._reported = (time.perf_counter(), self.trainer.samples, self._waited_s)
        self.metrics.add(line)
        self._events.add("train", line)
        self.display.train_line(line)

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
        self._save(score=score)
        self._write_net(figures, playing)
        self.display.validation_line(trainer.step, figures)
        # The rate of steps shall not count the time of validation.
        self._reported = (time.perf_counter(), trainer.samples, self._waited_s)
        self._sums.clear()
        self._count = 0

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
            self.folder.net,
            playing,
            step=self.trainer.step,
            metrics=shown,
            data_licence=self.settings.licence,
        )
        write_card(self.folder, self.settings, playing, self.trainer, shown, self.elapsed_s)


def first_model(settings: PretrainSettings, game: Game) -> Model:
    """New weights, or those of a file."""
    asked = settings.net or game.default_net
    if _is_file(asked):
        if not Path(asked).is_file():
            raise UserError(f"{asked}: no such file")
        return load_any_net(asked, game=game)[0]
    return build_model(game.parse_net(asked), game, seed=settings.seed)


def _unplaced_actions(game: Game, model: Model) -> NDArray[np.intp]:
    """Actions that the net gives no logit of its own."""
    maps = game.heads.policy_maps
    if model.spec.pass_logit or "conv" not in maps:
        return np.empty(0, np.intp)
    return np.flatnonzero(np.asarray(maps["conv"].index) < 0)


def _is_file(net: str) -> bool:
    return net.endswith(net_suffixes())


def _has_checkpoints(settings: PretrainSettings) -> bool:
    path = PretrainFolder(run_path(settings)).checkpoints
    return path.is_dir() and any(path.iterdir())
