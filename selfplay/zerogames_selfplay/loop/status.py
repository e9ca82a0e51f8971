"""The present state of a training run, for the display and the summary."""

import time
from dataclasses import dataclass, field

from zerogames_selfplay.loop.learner import LearnerReport
from zerogames_selfplay.players.counts import Counts


@dataclass(kw_only=True)
class Status:
    """Changed by the driver, shown by the display."""

    game: str
    net: str
    phase: str = "starting"
    """The present work, such as playing or learning."""
    reason: str = ""
    """The reason: what the phase waits for."""
    progress: float | None = None
    """Share of the run that is over."""
    limit_s: float | None = None
    start_s: float = field(default_factory=time.monotonic)
    elapsed_before_s: float = 0.0
    """Seconds of earlier sessions."""
    selfplay: Counts = field(default_factory=Counts)
    """What this session played."""
    selfplay_s: float = 0.0
    """Seconds in which self-play ran in this session."""
    learner: LearnerReport | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    """Losses of all generations."""
    ratings: list[tuple[int, float, float, float]] = field(default_factory=list)
    """Step, Elo, low, high of all rated nets."""
    playing: str = ""
    """The net that plays."""
    workers: str = ""
    """The state of the workers in a line."""
    restarts: int = 0
    """Actors that died and were replaced in this session."""

    @property
    def elapsed_s(self) -> float:
        """Seconds of all sessions."""
        return self.elapsed_before_s + time.monotonic() - self.start_s

    @property
    def positions_per_s(self) -> float:
        """Positions per second of self-play in this session, while it ran."""
        return self.selfplay.learnable / self.selfplay_s if self.selfplay_s > 0 else 0.0
