"""The interface of raters, and the rater of this process."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from zerogames.arena.results import Wdl
from zerogames_selfplay.loop.rating import RatingJob, RatingResult
from zerogames_selfplay.loop.rating_matches import RatingMatches
from zerogames_selfplay.loop.settings import GateSettings


class Rater(Protocol):
    """Plays rating games and gate matches: a `LocalRater` here and now, or a `RayRater` beside."""

    @property
    def restarts(self) -> int:
        """How often it died and was replaced."""

    @property
    def is_rating(self) -> bool:
        """Whether a rating has begun and its result was not taken."""

    def begin(self, job: RatingJob, on_match: Callable[[str], None]) -> None:
        """Begin to rate a net; `on_match` gets the opponents' names if the caller waits for them.

        A rating that was stopped, or whose rater died, has no result.
        """

    def poll(self, timeout_s: float = 0.0) -> RatingResult | None:
        """Take the result once it is there."""

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """Play the gate match: whether the candidate scores enough, and its results."""


class LocalRater:
    """Plays in this thread."""

    restarts = 0
    """It lives as long as its process."""

    def __init__(self, matches: RatingMatches) -> None:
        self._matches = matches
        self._result: RatingResult | None = None
        self.passes_gate = matches.passes_gate

    @property
    def is_rating(self) -> bool:
        """Whether a result was not taken yet."""
        return self._result is not None

    def begin(self, job: RatingJob, on_match: Callable[[str], None]) -> None:
        """Rate a net; the result can be taken at once, unless the run was stopped."""
        result = self._matches.rate(job, on_match)
        self._result = None if self._matches.is_stopped else result

    def poll(self, timeout_s: float = 0.0) -> RatingResult | None:
        """Take the result."""
        result, self._result = self._result, None
        return result
