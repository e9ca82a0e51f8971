"""The settings of a trainer."""

from dataclasses import dataclass, fields
from typing import Literal

from zerogames.errors import UserError

Optimizer = Literal["sgd", "adamw"]
Precision = Literal["auto", "fp32", "bf16", "fp16"]


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """How a trainer changes weights with batches, whatever their source."""

    batch_size: int = 256
    """The number of positions in a step."""
    splits: int = 1
    """The number of parts a batch is computed in, for large batches in little memory: gradients are
    averaged, and batch norms see one part at a time (Lc0's virtual batch size)."""
    optimizer: Optimizer = "adamw"
    """The optimizer: `sgd` (with momentum) or `adamw`."""
    learning_rate: float = 1e-3
    """The highest learning rate of the schedule, for losses that are means over the batch."""
    momentum: float = 0.9
    """The momentum of `sgd`."""
    nesterov: bool = True
    """Whether the momentum is Nesterov's, as in Lc0 and the papers."""
    weight_decay: float = 1e-4
    """The decoupled decay of the weights of convolutions and dense layers, times the learning
    rate."""
    l2: float = 0.0
    """The factor of the sum of squares of the same weights in the loss (Lc0: 0.5e-4)."""
    clip_norm: float = 0.0
    """The length to which longer gradients are cut; 0 for no limit."""

    schedule: Literal["constant", "steps", "cosine"] = "constant"
    """The learning rate over the run: `constant`, `steps` (multiplied at boundaries) or `cosine`
    (down to `final_learning_rate`)."""
    warmup_steps: int = 250
    """The number of steps of the linear warm-up from 1/20 of the learning rate."""
    boundaries: tuple[int, ...] = ()
    """The steps at which the learning rate is multiplied by the next of `factors`."""
    factors: tuple[float, ...] = (0.1,)
    """The factor of each boundary; the last one serves all further boundaries."""
    total_steps: int = 0
    """The step at which the cosine ends; after it the learning rate stays."""
    final_learning_rate: float = 1e-4
    """The learning rate at the end of the cosine."""

    averaging: Literal["ema", "swa", "none"] = "ema"
    """The weights that play: an exponential average of every step (`ema`), of a snapshot every
    `swa_period` steps (`swa`), or the weights themselves (`none`)."""
    ema_decay: float = 0.999
    """The share of the old average that a step of `ema` keeps."""
    swa_period: int = 300
    """The number of steps between two snapshots of `swa`."""
    swa_scale: float = 8.0
    """A snapshot of `swa` moves the average by 1 / scale of the difference."""

    policy_weight: float = 1.0
    """The weight of the policy's loss."""
    value_weight: float = 1.0
    """The weight of the value's loss, times the net's own."""
    moves_left_weight: float = 1.0
    """The weight of the moves-left loss, if the net has that head."""
    moves_left_loss: Literal["huber", "mse"] = "huber"
    """The loss of the moves-left head: `huber` (linear beyond 10 plies) or `mse`."""
    ends_weight: float = 1.0
    """The weight of the losses of heads for training only (Go: ownership and score), times their
    own."""
    search_value_share: float = 0.0
    """The share of the search's value in the value target; the rest is the game's result."""
    freeze_norms: bool = False
    """Whether batch norms use their running statistics and leave them unchanged."""

    threads: int = 0
    """The number of torch's threads on a CPU; 0 leaves torch's choice, one for each core."""
    memory_format: Literal["auto", "contiguous", "channels-last"] = "auto"
    """The order of numbers in memory; `auto` takes `channels-last`."""
    precision: Precision = "auto"
    """The precision of the arithmetic. `auto`: bf16 or fp16 on a GPU; on a CPU bf16 if it has
    instructions for it (AVX-512 BF16, AMX), else fp32."""
    seed: int = 0
    """The seed of torch's random numbers."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        for field in fields(self):
            value = getattr(self, field.name)
            least = 1 if field.name in ("batch_size", "splits", "swa_period", "swa_scale") else 0
            if isinstance(value, int | float) and not value >= least:
                raise UserError(f"{field.name} must be {least} or more, not {value}")
        if self.learning_rate == 0:
            raise UserError("learning_rate must be above 0")
        for name in ("momentum", "ema_decay"):
            if getattr(self, name) >= 1:
                raise UserError(f"{name} must be below 1, not {getattr(self, name)}")
        if self.search_value_share > 1:
            raise UserError(f"search_value_share {self.search_value_share} is not a share")
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
