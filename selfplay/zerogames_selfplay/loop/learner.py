"""The learner: takes finished shards, trains on the window over them, and keeps checkpoints.

Everything it knows is in its last checkpoint and in the shards on disk, so that a learner which is
killed goes on where the checkpoint was made: shards that came later are taken in again.
"""

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zerogames.data.sample import SampleBatch, unpack
from zerogames.data.shard import shard_paths
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import build_model, load_net, save_net
from zerogames.train import CheckpointFolder, Draws, ReplayWindow, Trainer, validate
from zerogames.train.shard_samples import ShardSamples
from zerogames_selfplay.loop.folder import TrainFolder
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.players.seeds import derive_seed

SET_ASIDE = "set-aside"
_VALIDATED = 1024
"""Positions of the newest shard that are used for validation."""
NORM_BATCHES = 8
"""Batches from which the batch-norm statistics of a playing net are computed."""


@dataclass(kw_only=True)
class Ledger:
    """What a run has done, in the words of a checkpoint."""

    generation: int = 0
    """Rounds of training."""
    elapsed_s: float = 0.0
    """Of all sessions."""
    due_samples: float = 0.0
    """Training samples that the positions so far still allow: the train bucket."""
    shards: list[str] = field(default_factory=list)
    """Names of all shards that were taken in, in that order."""
    set_aside: int = 0
    """Damaged shards among them."""


@dataclass(frozen=True, kw_only=True)
class Glance:
    """A look at a round of training while it goes on."""

    step: int
    due_steps: int
    metrics: dict[str, float]
    """Of the last step; empty before the first."""


@dataclass(frozen=True, kw_only=True)
class LearnerReport:
    """Where a learner stands."""

    step: int
    samples: int
    generation: int
    elapsed_s: float
    """At its last round."""
    positions: int
    """In all shards so far."""
    games: int
    window: int
    """Positions in the window."""
    missing_positions: int
    """Before the first step can be made."""
    due_steps: int
    set_aside: int
    net: Path | None = None
    """Made in this round, if steps were made."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Means over the steps of this round, the learning rate of the last; `validation_...`: how the
    net before this round foresaw the newest games."""
    steps: int = 0
    """Made in this round."""
    seconds: float = 0.0
    """Of training in this round."""
    notes: tuple[str, ...] = ()
    """What a person should know, e.g. of damaged files."""


class Learner:
    """A trainer, its window and its ledger."""

    def __init__(
        self,
        settings: TrainSettings,
        folder: TrainFolder,
        checkpoints: CheckpointFolder,
        trainer: Trainer,
        ledger: Ledger,
        window: ReplayWindow,
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.checkpoints = checkpoints
        self.trainer = trainer
        self.ledger = ledger
        self.window = window
        self._notes: list[str] = []
        self._metrics: dict[str, float] = {}
        self._known = set(ledger.shards)
        self._refused: set[str] = set()
        self._unseen: ShardSamples | None = None
        """The newest shard, until a step was made with it in the window."""
        self.restarts = 0
        """This one lives as long as its process."""

    @classmethod
    def open(cls, settings: TrainSettings, game: Game, folder: TrainFolder) -> "Learner":
        """Go on from the newest whole checkpoint, or begin with new weights."""
        checkpoints = CheckpointFolder(
            folder.checkpoints, keep_last=settings.keep_checkpoints, keep_best=1
        )
        trainer_settings = settings.trainer_settings()
        resumed = checkpoints.resume(game=game, settings=trainer_settings)
        notes: tuple[str, ...] = ()
        extra: Any = {}
        if resumed is None:
            trainer = Trainer(_first_model(settings, game), game, trainer_settings)
        else:
            trainer, extra, notes = resumed.trainer, resumed.extra, resumed.refused
        _check_net(settings, game, trainer, folder)
        window = _new_window(settings, game, trainer, folder)
        ledger = Ledger()
        if extra:
            ledger = Ledger(**extra["ledger"])
            window.restore(extra["window"], lambda name: folder.shards / Path(name).name)
        learner = cls(settings, folder, checkpoints, trainer, ledger, window)
        learner._notes += notes
        learner._note_problems()
        return learner

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
        return int(self.ledger.due_samples // self.trainer.settings.batch_size)

    @property
    def missing_positions(self) -> int:
        """Positions that must be played before the first step."""
        return max(0, self.settings.first_positions - self.window.total_positions)

    def take_shards(self) -> int:
        """Take in what is on disk and not known yet; the number of new positions."""
        before = self.window.total_positions
        for path in shard_paths(self.folder.shards):
            if path.name not in self._known:
                self._take(path)
                self._known.add(path.name)
                self.ledger.shards.append(path.name)
        self._note_problems()
        new = self.window.total_positions - before
        self.ledger.due_samples += new * self.settings.reuse
        return new

    def _take(self, path: Path) -> None:
        try:
            shard = self.window.read(path)
        except UserError:
            self.window.add(path)  # which names it and sets it aside
            return
        self.window.add(shard)
        if len(shard):
            self._unseen = shard

    def _validate(self) -> dict[str, float]:
        """How the net that plays foresaw the newest games, which it has not learnt from yet."""
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

    def _note_problems(self) -> None:
        """Name and count shards that the window has refused."""
        for name, reason in self.window.problems.named:
            if name not in self._refused:
                self._refused.add(name)
                self.ledger.set_aside += 1
                self._notes.append(f"set aside {name}: {reason}")

    def study(
        self,
        *,
        elapsed_s: float,
        progress: float | None,
        max_steps: int | None = None,
        min_steps: int = 1,
        keep_on: Callable[[Glance], bool] | None = None,
    ) -> LearnerReport:
        """A round: take in new shards, make the steps that are due, write net and checkpoint.

        Args:
            elapsed_s: Time of the run so far, which the checkpoint remembers.
            progress: Share of the run that is over, for the learning rate.
            max_steps: Make no more; what is left stays due.
            min_steps: Make none as long as fewer are due.
            keep_on: Called after each step; False ends the round early.
        """
        self.ledger.elapsed_s = elapsed_s
        self.take_shards()
        steps = self.due_steps if max_steps is None else min(self.due_steps, max_steps)
        if self.due_steps < min_steps:
            steps = 0
        validation = self._validate() if steps else {}
        begin = time.monotonic()
        metrics, made = self._train(steps, progress or 0.0, keep_on)
        seconds = time.monotonic() - begin
        if not made:
            return self.report()
        self.ledger.generation += 1
        net = self.write_net()
        self.save()
        return self.report(net=net, metrics=metrics | validation, steps=made, seconds=seconds)

    def _train(
        self,
        steps: int,
        progress: float,
        keep_on: Callable[[Glance], bool] | None,
    ) -> tuple[dict[str, float], int]:
        sums: dict[str, float] = {}
        metrics: dict[str, float] = {}
        first = self.step
        for _ in range(steps):
            batch = self.window.draw()
            metrics = self._metrics = self.trainer.train_step(batch, progress=progress)
            self.ledger.due_samples -= len(batch)
            for name, value in metrics.items():
                sums[name] = sums.get(name, 0.0) + value
            if keep_on is not None and not keep_on(self.glance()):
                break
        made = self.step - first
        means = {name: total / made for name, total in sums.items()}
        if metrics:
            means["learning_rate"] = metrics["learning_rate"]
        return means, made

    def glance(self) -> Glance:
        """How far the present round is; may be asked from another thread."""
        return Glance(step=self.step, due_steps=self.due_steps, metrics=self._metrics)

    def report(self, **changes: Any) -> LearnerReport:
        """Where it stands; notes are given once."""
        notes, self._notes = tuple(self._notes), []
        return LearnerReport(
            step=self.trainer.step,
            samples=self.trainer.samples,
            generation=self.ledger.generation,
            elapsed_s=self.ledger.elapsed_s,
            positions=self.window.total_positions,
            games=self.window.total_games,
            window=self.window.num_positions,
            missing_positions=self.missing_positions,
            due_steps=self.due_steps,
            set_aside=self.ledger.set_aside,
            notes=notes,
            **changes,
        )

    def write_net(self) -> Path:
        """Write the net that the present weights make; its file."""
        path = self.folder.net_at(self.step)
        if not path.exists():
            # New weights need batch-norm statistics of their own: running ones come too late.
            batches = (self.window.peek(number) for number in range(NORM_BATCHES))
            playing = self.trainer.playing_model(batches if self.window.num_positions else ())
            save_net(path, playing, step=self.step)
        return path

    def save(self) -> None:
        """Write a checkpoint; those that are not needed any more go."""
        extra: Any = {
            "ledger": dataclasses.asdict(self.ledger),
            "window": self.window.state(),
        }
        self.checkpoints.save(self.trainer, extra)

    def note_rating(self, step: int, elo: float) -> None:
        """Remember how good a net is: the checkpoint of the best one is kept."""
        self.checkpoints.record_score(step, elo)

    def finish(self, elapsed_s: float) -> None:
        """Write the last checkpoint of a session: shards that came late, and the time."""
        self.ledger.elapsed_s = elapsed_s
        self.take_shards()
        self.save()

    def close(self) -> None:
        """Stop the window's threads."""
        self.window.close()


def _first_model(settings: TrainSettings, game: Game) -> Any:
    given = settings.net
    if given is not None and Path(given).is_file():
        from zerogames.nets.foreign import resolve_net

        return load_net(resolve_net(given), game=game)[0]
    if given is not None and given.endswith(".safetensors"):
        raise UserError(f"{given}: no such file")
    return build_model(game.parse_net(given or game.default_net), game, seed=settings.seed)


def _check_net(settings: TrainSettings, game: Game, trainer: Trainer, folder: TrainFolder) -> None:
    name = trainer.model.spec.name
    if settings.net is None or Path(settings.net).is_file() or settings.net == name:
        return
    raise UserError(
        f"{folder.path} trains the net {name}, not {settings.net}; give another folder with --out"
    )


def _new_window(
    settings: TrainSettings, game: Game, trainer: Trainer, folder: TrainFolder
) -> ReplayWindow:
    return ReplayWindow(
        game,
        trainer.model.spec.encoding,
        dataclasses.replace(settings.window, batch_size=settings.trainer.batch_size),
        Draws(seed=derive_seed(settings.seed, 1)),
        set_aside=folder.path / SET_ASIDE,
        with_ends=bool(trainer.model.spec.ends),
    )
