"""What one search may spend."""

from dataclasses import dataclass, replace
from typing import Self

from zerogames.engine.clock import TimeBudget, TimeLeft


@dataclass(frozen=True, kw_only=True)
class ThinkLimits:
    """When a search stops: at the first limit that is met; without limits only when told to."""

    nodes: int | None = None
    """Visits of the root, including its own evaluation and visits kept from earlier moves. With 1
    the move of the highest prior is played."""
    depth: int | None = None
    """Mean length of the lines searched, in plies."""
    soft_s: float | None = None
    """Seconds worth spending. The search takes up to `hard_s` while the best move is in doubt and
    stops earlier when the best move cannot change."""
    hard_s: float | None = None
    """Seconds that are exceeded by at most one evaluation of the root."""
    clock: TimeLeft | None = None
    """The clock of the player to move; `NetEngine` derives `soft_s` and `hard_s` from it."""
    use_all_time: bool = False
    """Whether to search on when the best move cannot change: saved time would be lost."""
    infinite: bool = False
    """Whether to wait for `stop` even when there is nothing left to search."""
    ponder: bool = False
    """Whether the opponent's clock runs: no limit counts before `ponder_hit` is set."""
    allowed: tuple[int, ...] | None = None
    """The root actions to choose from; None for those that the game finds sensible."""
    lines: int = 1
    """Number of best moves with a principal variation each. Above 1 the search does not stop
    early."""

    @property
    def may_stop_early(self) -> bool:
        """Whether the search may stop when the best move cannot change."""
        return self.lines == 1 and not self.use_all_time

    def within(self, budget: TimeBudget | None) -> Self:
        """Return these limits with the times of a budget; None leaves them as they are."""
        if budget is None:
            return self
        return replace(
            self, soft_s=budget.soft_s, hard_s=budget.hard_s, use_all_time=budget.use_all
        )
