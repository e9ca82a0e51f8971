"""The settings of a trainer."""

from dataclasses import dataclass, fields
from typing import Literal

from zerogames.errors import UserError

Optimizer = Literal["sgd", "adamw"]
Schedule = Literal["constant", "steps", "cosine"]
Averaging = Literal["ema", "swa", "none"]
MemoryFormat = Literal["auto", "contiguous", "channels-last"]
Precision = Literal["auto", "fp32", "bf16", "fp16"]


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """How weights are changed by batches; where the batches come from is not said here."""

    batch_size: int = 256
    """Positions in a step."""
    splits: int = 1
    """Parts a batch is run in, for large batches in little memory: gradients are averaged, batch
    norms see one part at a time (Lc0's virtual batch size)."""
    optimizer: Optimizer = "adamw"
    """sgd (with momentum) or adamw."""
    learning_rate: float = 1e-3
    """The highest of the schedule, for losses that are means over the batch."""
    momentum: float = 0.9
    """Of sgd."""
    nesterov: bool = True
    """Nesterov's form of momentum, as Lc0 and the papers train."""
    weight_decay: float = 1e-4
    """Decoupled, times the learning rate; on weights of convolutions and dense layers."""
    l2: float = 0.0
    """Times the sum of squares of the same weights, as a part of the loss (Lc0: 0.5e-4)."""
    clip_norm: float = 0.0
    """Longer gradients are cut to this length; 0 for none."""

    schedule: Schedule = "constant"
    """constant, steps (divided at boundaries) or cosine (down to `final_learning_rate`)."""
    warmup_steps: int = 250
    """Linear from 1/20 of the learning rate."""
    boundaries: tuple[int, ...] = ()
    """Steps at which the learning rate is multiplied by the next of `factors`."""
    factors: tuple[float, ...] = (0.1,)
    """For the boundaries in turn; the last one serves the rest."""
    total_steps: int = 0
    """Where the cosine ends; after it the learning rate stays."""
    final_learning_rate: float = 1e-4
    """At the end of the cosine."""

    averaging: Averaging = "ema"
    """What plays: an exponential average of every step (ema), of a snapshot every `swa_period`
    steps (swa), or the weights themselves (none)."""
    ema_decay: float = 0.999
    """Share of the old average that a step keeps."""
    swa_period: int = 300
    """Steps between snapshots."""
    swa_scale: float = 8.0
    """A snapshot moves the average by 1 / scale of the difference."""

    policy_weight: float = 1.0
    """Of the policy's loss."""
    value_weight: float = 1.0
    """Of the value's loss, times the net's own."""
    moves_left_weight: float = 1.0
    """Of the moves-left loss, if the net has that head."""
    moves_left_loss: Literal["huber", "mse"] = "huber"
    """Beyond 10 plies linear, or squares."""
    ends_weight: float = 1.0
    """Of the losses of heads for training only (Go: ownership and score), times their own."""
    search_value_share: float = 0.0
    """Value target: this share of what the search saw, the rest the game's result."""
    freeze_norms: bool = False
    """Let batch norms use their running statistics and not move them."""

    threads: int = 0
    """Threads of torch on a CPU; 0 leaves its own choice, one for each core."""
    memory_format: MemoryFormat = "auto"
    """Order of numbers in memory; auto takes channels-last."""
    precision: Precision = "auto"
    """auto: bf16 or fp16 on a GPU; on a CPU bf16 if it has instructions for it (AVX-512 BF16, AMX),
    else fp32."""
    seed: int = 0
    """Of torch's random numbers."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        for name in ("batch_size", "splits", "swa_period"):
            self._at_least(name, 1)
        for name in ("warmup_steps", "total_steps", "threads", "seed"):
            self._at_least(name, 0)
        for field in fields(self):
            if field.type in ("float", float):
                self._at_least(field.name, 0)
        if self.learning_rate == 0:
            raise UserError("learning_rate must be above 0")
        for name in ("momentum", "ema_decay"):
            if getattr(self, name) >= 1:
                raise UserError(f"{name} must be below 1, not {getattr(self, name)}")
        if self.search_value_share > 1:
            raise UserError(f"search_value_share {self.search_value_share} is not a share")
        if self.swa_scale < 1:
            raise UserError(f"swa_scale must be 1 or more, not {self.swa_scale}")
        if self.batch_size % self.splits:
            raise UserError(f"a batch of {self.batch_size} does not divide in {self.splits} splits")
        if self.nesterov and self.optimizer == "sgd" and self.momentum == 0:
            raise UserError("nesterov needs a momentum above 0")
        self._check_schedule()

    def _check_schedule(self) -> None:
        if self.schedule == "steps":
            if not self.boundaries or not self.factors:
                raise UserError("the schedule 'steps' needs boundaries and factors")
            if list(self.boundaries) != sorted(set(self.boundaries)):
                raise UserError(f"boundaries must ascend, not {list(self.boundaries)}")
        if self.schedule == "cosine" and self.total_steps <= self.warmup_steps:
            raise UserError(
                f"the schedule 'cosine' needs total_steps above warmup_steps ({self.warmup_steps})"
            )

    def _at_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not value >= least:
            raise UserError(f"{name} must be {least} or more, not {value}")
