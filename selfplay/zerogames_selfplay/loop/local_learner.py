"""The learner of this process: reads finished shards, trains on the window, keeps checkpoints.

Its last checkpoint and the shards on disk hold all its state, so that a learner that was killed
continues where the checkpoint was made: shards that came later are read again. A round reads a
portion of the shards at most and makes checkpoints on its way, so that a run which is killed again
and again makes progress all the same.
"""

import dataclasses
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zerogames.data.sample import SampleBatch, unpack
from zerogames.data.shard import shard_paths
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import save_net
from zerogames.runs.folder import RunPaths
from zerogames.runs.net_source import check_resumed_net, find_net
from zerogames.train import CheckpointFolder, Draws, ReplayWindow, Trainer, validate
from zerogames.train.shard_samples import ShardSamples
from zerogames_selfplay.loop.learner import KeepOn, LearnerReport, RoundProgress, TrainRound
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.players.seeds import derive_seed

_VALIDATED = 1024
"""Positions of the newest shard that are used for validation."""
_NORM_BATCHES = 8
"""Batches from which the batch-norm statistics of a playing net are computed."""


@dataclass(kw_only=True)
class LearnerProgress:
    """What a run has learnt from; a checkpoint keeps it under the name `ledger`."""

    generation: int = 0
    """Rounds of training."""
    elapsed_s: float = 0.0
    """Time of all sessions."""
    due_samples: float = 0.0
    """Training samples that the positions so far still allow: the train bucket."""
    shards: list[str] = field(default_factory=list)
    """Names of all shards that were read, in that order."""
    set_aside: int = 0
    """Damaged shards among them."""


class LocalLearner:
    """A trainer with its window and checkpoints: the `Learner` of one process."""

    restarts = 0
    """It lives as long as its process."""

    def __init__(self, settings: TrainSettings, game: Game, paths: RunPaths) -> None:
        """Continue from the newest whole checkpoint, or begin with new weights."""
        self.settings = settings
        self.paths = paths
        self.checkpoints = CheckpointFolder(
            paths.checkpoints, keep_last=settings.keep_checkpoints, keep_best=1
        )
        trainer_settings = settings.trainer_settings()
        resumed = self.checkpoints.resume(game=game, settings=trainer_settings)
        self._notes: list[str] = []
        extra: Any = {}
        if resumed is None:
            model, _ = find_net(settings.net or game.default_net, game).load(seed=settings.seed)
            self.trainer = Trainer(model, game, trainer_settings)
        else:
            self.trainer, extra = resumed.trainer, resumed.extra
            self._notes += resumed.refused
        spec = self.trainer.model.spec
        check_resumed_net(settings.net, spec.name, paths.path, game)
        self.window = ReplayWindow(
            game,
            spec.encoding,
            dataclasses.replace(settings.window, batch_size=settings.trainer.batch_size),
            Draws(seed=derive_seed(settings.seed, 1)),
            set_aside=paths.set_aside,
            with_ends=bool(spec.ends),
        )
        self.progress = LearnerProgress()
        if extra:
            self.progress = LearnerProgress(**extra["ledger"])
            self.window.restore(extra["window"], lambda name: paths.shards / Path(name).name)
        self._metrics: dict[str, float] = {}
        self._known = set(self.progress.shards)
        self._refused: set[str] = set()
        self._unseen: ShardSamples | None = None
        """The newest shard, until a step was made with it in the window."""
        self._begun_at = self._saved_at = time.monotonic()
        """When the present round began, and when it last made a checkpoint."""
        self._begun_elapsed_s = self.progress.elapsed_s
        self._note_problems()

    @property
    def step(self) -> int:
        """Training steps made."""
        return self.trainer.step

    @property
    def net_name(self) -> str:
        """The architecture."""
        return str(self.trainer.model.spec.name)

    @property
    def due_steps(self) -> int:
        """Steps that may be made now."""
        if self.missing_positions:
            return 0
        return int(self.progress.due_samples // self.trainer.settings.batch_size)

    @property
    def missing_positions(self) -> int:
        """Positions that must be played before the first step."""
        return max(0, self.settings.first_positions - self.window.total_positions)

    @property
    def unread_shards(self) -> int:
        """Shards on disk that are not in the window yet."""
        return len(self._unread_paths())

    def _unread_paths(self) -> list[Path]:
        return [path for path in shard_paths(self.paths.shards) if path.name not in self._known]

    def read_new_shards(self, most: int | None = None) -> None:
        """Put shards that are on disk and not known yet into the window, the oldest first.

        Args:
            most: Positions after which no further shard is read; half of the time between two
                checkpoints ends it, too. None: no bound.
        """
        before = self.window.total_positions
        stop_at = time.monotonic() + self.settings.checkpoint_s / 2
        for path in self._unread_paths():
            self._read_shard(path)
            self._known.add(path.name)
            self.progress.shards.append(path.name)
            read = self.window.total_positions - before
            if most is not None and (read >= most or time.monotonic() >= stop_at):
                break
        self._note_problems()
        new = self.window.total_positions - before
        self.progress.due_samples += new * self.settings.reuse

    def _read_shard(self, path: Path) -> None:
        try:
            shard = self.window.read(path)
        except UserError:
            self.window.add(path)  # Names the file and sets it aside.
            return
        self.window.add(shard)
        if len(shard):
            self._unseen = shard

    def _note_problems(self) -> None:
        """Name and count shards that the window has refused."""
        for name, reason in self.window.problems.named:
            if name not in self._refused:
                self._refused.add(name)
                self.progress.set_aside += 1
                self._notes.append(f"set aside {name}: {reason}")

    def _validate(self) -> dict[str, float]:
        """Measure the net that plays on the newest games, on which it was not trained yet."""
        shard, self._unseen = self._unseen, None
        if shard is None:
            return {}
        rows = np.unique(np.linspace(0, len(shard) - 1, _VALIDATED).astype(int)).tolist()
        model = self.trainer.playing_model()
        actions = self.window.game.spec.action_size
        batch = SampleBatch.empty(len(rows), model.input_shape, actions)
        unpack([shard.sample(row) for row in rows], batch)
        figures = validate(
            model, [batch], search_value_share=self.trainer.settings.search_value_share
        )
        return {
            f"validation_{name.replace('/', '_')}": value
            for name, value in figures.items()
            if not name.endswith("positions")
        }

    def train_round(self, order: TrainRound, keep_on: KeepOn) -> LearnerReport:
        """Read a portion of the new shards, make the steps that are due, write net and checkpoint.

        `keep_on` is called after each step.
        """
        self._begun_at, self._begun_elapsed_s = time.monotonic(), order.elapsed_s
        self._saved_at = self._begun_at
        self.read_new_shards(most=self.settings.generation_positions)
        steps = self.due_steps
        if order.max_steps is not None:
            steps = min(steps, order.max_steps)
        if self.due_steps < order.min_steps:
            steps = 0
        validation = self._validate() if steps else {}
        begin = time.monotonic()
        metrics, made = self._train(steps, order.progress or 0.0, keep_on)
        seconds = time.monotonic() - begin
        if not made:
            return self.report()
        self.progress.generation += 1
        net = self.write_net()
        self._save_round()
        return self.report(net=net, metrics=metrics | validation, steps=made, seconds=seconds)

    def _train(self, steps: int, progress: float, keep_on: KeepOn) -> tuple[dict[str, float], int]:
        sums: dict[str, float] = {}
        metrics: dict[str, float] = {}
        first = self.step
        for _ in range(steps):
            batch = self.window.draw()
            metrics = self._metrics = self.trainer.train_step(batch, progress=progress)
            self.progress.due_samples -= len(batch)
            for name, value in metrics.items():
                sums[name] = sums.get(name, 0.0) + value
            if not keep_on(self.round_progress()):
                break
            if time.monotonic() >= self._saved_at + self.settings.checkpoint_s:
                self._save_round()
        made = self.step - first
        means = {name: total / made for name, total in sums.items()}
        if metrics:
            means["learning_rate"] = metrics["learning_rate"]
        return means, made

    def _save_round(self) -> None:
        self.progress.elapsed_s = self._begun_elapsed_s + time.monotonic() - self._begun_at
        self.save()
        self._saved_at = time.monotonic()

    def round_progress(self) -> RoundProgress:
        """The state of the present round; may be asked from another thread."""
        return RoundProgress(step=self.step, due_steps=self.due_steps, metrics=self._metrics)

    def report(self, **changes: Any) -> LearnerReport:
        """The present state; each note is given once."""
        notes, self._notes = tuple(self._notes), []
        return LearnerReport(
            step=self.trainer.step,
            samples=self.trainer.samples,
            generation=self.progress.generation,
            elapsed_s=self.progress.elapsed_s,
            positions=self.window.total_positions,
            games=self.window.total_games,
            window=self.window.num_positions,
            missing_positions=self.missing_positions,
            due_steps=self.due_steps,
            unread_shards=self.unread_shards,
            set_aside=self.progress.set_aside,
            notes=notes,
            **changes,
        )

    def write_net(self) -> Path:
        """Write the net of the present weights, if it is not written yet; its file."""
        path = self.paths.net_at(self.step)
        if not path.exists():
            # New weights need batch-norm statistics of their own: running ones come too late.
            batches = (self.window.peek(number) for number in range(_NORM_BATCHES))
            playing = self.trainer.playing_model(batches if self.window.num_positions else ())
            save_net(path, playing, step=self.step)
        return path

    def save(self) -> None:
        """Write a checkpoint; remove those that need not be kept."""
        extra: Any = {
            "ledger": dataclasses.asdict(self.progress),
            "window": self.window.state(),
        }
        self.checkpoints.save(self.trainer, extra)

    def note_rating(self, step: int, elo: float) -> None:
        """Note how strong a net is: the checkpoint of the best one is kept."""
        self.checkpoints.record_score(step, elo)

    def finish(self, elapsed_s: float) -> None:
        """Write the last checkpoint of a session, with shards that came late, and the time."""
        self.progress.elapsed_s = elapsed_s
        self.read_new_shards()
        self.save()

    def close(self) -> None:
        """Stop the window's threads."""
        self.window.close()
