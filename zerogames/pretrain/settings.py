"""The settings of `zerogames pretrain`."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zerogames.config import to_table
from zerogames.data.problems import OnProblem
from zerogames.errors import UserError
from zerogames.runs.folder import default_folder
from zerogames.train import TrainerSettings

KIND = "pretrain"


@dataclass(frozen=True, kw_only=True)
class ReadingSettings:
    """How positions are drawn from games."""

    keep: float = 1.0
    """The share of a game's positions that a pass over the data takes, drawn anew in each pass: a
    smaller share mixes the batches better."""
    per_game: int = 0
    """The largest number of positions of a game in a pass; 0 for no limit."""
    shuffle_buffer: int = 131_072
    """The number of positions among which the next is drawn, about a kilobyte each."""
    symmetries: bool = True
    """Whether each position is rotated and mirrored at random, where the game has symmetries."""
    engine_values: bool = False
    """Whether values in the games' comments are taken as the search's values."""
    workers: int = 1
    """The number of threads that read."""
    on_problem: OnProblem = "skip"
    """Whether files and games that cannot be read are skipped and counted, or stop the command with
    their name."""


@dataclass(frozen=True, kw_only=True)
class ValidationSettings:
    """The games kept for validation, and how often the net is validated."""

    share: float = 0.2
    """The share of the games kept for validation, chosen by their contents: the same games for
    every net and every run."""
    every: int = 2000
    """The number of steps between two validations; there is one more at the end."""
    positions: int = 100_000
    """The largest number of positions of a validation, the same ones each time."""
    final_positions: int = 0
    """The largest number of positions of the last validation, `positions` among them; 0 for no more
    than these."""
    per_game: int = 32
    """The largest number of positions of a game; 0 for all."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        if not 0 < self.share < 1:
            raise UserError(f"validation.share {self.share:g} is not between 0 and 1")
        if self.every < 1 or self.positions < 1:
            raise UserError("validation.every and validation.positions must be 1 or more")


@dataclass(frozen=True, kw_only=True)
class PretrainSettings:
    """A supervised training: its data, its net, its length and its folder."""

    game: str = "chess"
    """The game with its options, e.g. `go:size=9`."""
    data: tuple[Path, ...] = ()
    """Files, folders, tar and zip archives of games; their kind is recognised by their contents."""
    net: str | None = None
    """The net to train: the name of an architecture for new random weights, a file, also another
    program's (`weights.pb.gz`), `newest` or `shipped`; by default the game's own small net."""
    out: Path | None = None
    """The folder of the run; by default `runs/<game>-pretrain`. An existing one is continued."""
    minutes: float | None = None
    """The length of the run in minutes, all sessions together; 20 if no other limit is given."""
    steps: int | None = None
    """The number of steps after which the run ends."""
    seed: int = 1
    """The seed that decides the first weights and the order of the data."""
    licence: str = ""
    """The licence and credit of the data, which are written into the net."""
    report_every: int = 100
    """The number of steps between two lines of metrics."""
    checkpoint_minutes: float = 5.0
    """The longest time between two checkpoints in minutes: what a crash can cost."""
    keep_checkpoints: int = 2
    """The number of newest checkpoints kept beside the one with the best accuracy."""
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    trainer: TrainerSettings = field(default_factory=TrainerSettings)

    def check(self) -> None:
        """Raise `UserError` for what makes no sense."""
        if not self.data:
            raise UserError("say what to learn from: --data PATH (files or folders of games)")
        for name in ("minutes", "steps", "checkpoint_minutes"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UserError(f"--{name.replace('_', '-')} must be positive, not {value:g}")
        for name in ("report_every", "keep_checkpoints"):
            if getattr(self, name) < 1:
                option = name.replace("_", "-")
                raise UserError(f"--{option} must be 1 or more, not {getattr(self, name)}")
        if not 0 <= self.seed < 1 << 31:
            raise UserError("--seed must be between 0 and 2^31")
        self.validation.check()
        self.trainer_settings().check()

    @property
    def folder(self) -> Path:
        """The folder asked for, or the game's own."""
        return self.out or default_folder(self.game, KIND)

    def table(self) -> dict[str, Any]:
        """Tables of plain values, for `run.json`."""
        return to_table(self) | {"data": [str(path) for path in self.data]}

    @property
    def limit_s(self) -> float | None:
        """Seconds of the whole run, if limited by time."""
        if self.minutes is not None:
            return 60 * self.minutes
        return None if self.steps is not None else 1200.0

    def progress(self, *, elapsed_s: float, step: int) -> float:
        """Share of the run that is over by its nearest limit, 0 to 1."""
        shares = []
        if self.limit_s is not None:
            shares.append(elapsed_s / self.limit_s)
        if self.steps is not None:
            shares.append(step / self.steps)
        return min(1.0, max(shares))

    def trainer_settings(self) -> TrainerSettings:
        """The trainer's; a cosine ends with the run."""
        trainer = replace(self.trainer, seed=self.seed)
        if trainer.schedule == "cosine":
            least = trainer.warmup_steps + 1
            trainer = replace(trainer, total_steps=max(least, self.steps or 0))
        return trainer
