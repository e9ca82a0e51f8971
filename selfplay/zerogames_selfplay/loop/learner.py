"""The interface of learners, and what they are asked and answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class TrainRound:
    """A round of training: it reads a portion of the new shards and makes the steps due."""

    elapsed_s: float
    """Time of the run so far, which the checkpoint keeps."""
    progress: float | None
    """Share of the run that is over, for the learning rate."""
    max_steps: int | None = None
    """Make no more steps; the others stay due."""
    min_steps: int = 1
    """Make no step as long as fewer are due."""


@dataclass(frozen=True, kw_only=True)
class RoundProgress:
    """The state of a round of training before its end."""

    step: int
    due_steps: int
    metrics: dict[str, float]
    """Metrics of the last step; empty before the first."""


KeepOn = Callable[[RoundProgress], bool]
"""Gets the state of a round from time to time; False ends the round early."""


@dataclass(frozen=True, kw_only=True)
class LearnerReport:
    """The state of a learner after a round."""

    step: int
    samples: int
    generation: int
    elapsed_s: float
    """Time of the run at the last round."""
    positions: int
    """Positions in all shards that were read so far."""
    games: int
    window: int
    """Positions in the replay window."""
    missing_positions: int
    """Positions that are needed before the first step can be made."""
    due_steps: int
    unread_shards: int
    """Shards on disk that no round has read yet."""
    set_aside: int
    """Damaged shards."""
    net: Path | None = None
    """The net of this round, if steps were made."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Means over the steps of this round, but the learning rate of the last; `validation_...`: how
    well the net before this round predicted the newest games."""
    steps: int = 0
    """Steps of this round."""
    seconds: float = 0.0
    """Time of this round's steps."""
    notes: tuple[str, ...] = ()
    """What a person should know, such as damaged files."""


class Learner(Protocol):
    """Trains the net: a `LocalLearner` in this process, or a `RayLearner`."""

    @property
    def restarts(self) -> int:
        """How often it died and was replaced."""

    @property
    def net_name(self) -> str:
        """The architecture."""

    def report(self) -> LearnerReport:
        """The state after the last round."""

    def write_net(self) -> Path:
        """Write the net of the present weights, if it is not written yet; its file."""

    def train_round(self, order: TrainRound, keep_on: KeepOn) -> LearnerReport:
        """Train a round and wait for its end."""

    def note_rating(self, step: int, elo: float) -> None:
        """Note how strong a net is: the checkpoint of the best one is kept."""

    def finish(self, elapsed_s: float) -> None:
        """Write the last checkpoint of a session."""

    def close(self) -> None:
        """Free what it holds."""


class BackgroundLearner(Learner, Protocol):
    """A learner that trains while its caller does other work."""

    @property
    def is_training(self) -> bool:
        """Whether a round has begun and its report was not taken."""

    def begin_round(self, order: TrainRound) -> None:
        """Begin a round; `poll` tells when it is over."""

    def poll(self, timeout_s: float) -> LearnerReport | None:
        """The report of the round once it is over."""

    def stop_round(self) -> None:
        """End the round after the present step."""
