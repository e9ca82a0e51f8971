"""How much time of a clock a move may take.

The share is lc0's: the time left over an estimate of the moves to come, which falls with every
move. All times are seconds.
"""

from dataclasses import dataclass

MIN_BUDGET_S = 0.001
DEFAULT_OVERHEAD_S = 0.1
"""Seconds lost between engine and clock in user interfaces, pipes and on a busy machine."""

_MIDPOINT = 51.5
_STEEPNESS = 7
"""The midpoint and steepness of lc0's curve of moves to go."""
_FIRST_MOVE_BONUS = 1.8
_BOOK_PLY_BONUS = 0.25
_BOOK_PLIES = 12
"""The first search starts without a tree, so it gets more time, and still more after a book."""
_LARGEST_SHARE = 0.25
"""The largest share of the clock for one move, unless the next time control is near."""


@dataclass(frozen=True, kw_only=True)
class TimeLeft:
    """A player's clock before a move."""

    time_s: float
    increment_s: float = 0.0
    """Seconds added after each move."""
    moves_to_go: int | None = None
    """Moves until time is added; None or below 1 if no time is added."""


@dataclass(frozen=True)
class TimeBudget:
    """The seconds that one move may take."""

    soft_s: float
    """Worth spending."""
    hard_s: float
    """Never exceeded."""
    use_all: bool = False
    """Whether saved time is lost, so that an early stop gains nothing."""

    def at_most(self, seconds: float) -> "TimeBudget":
        """Return the budget with a smaller limit."""
        hard_s = min(self.hard_s, seconds)
        return TimeBudget(min(self.soft_s, hard_s), hard_s, self.use_all)


def estimated_moves_to_go(ply: int) -> float:
    """Return the moves that the mover still expects to play (lc0): 51.5 at first, then fewer."""
    moves = max(0, ply) / 2
    stretch = (1 + 2 * (moves / _MIDPOINT) ** _STEEPNESS) ** (1 / _STEEPNESS)
    return float(_MIDPOINT * stretch - moves)


def move_time_budget(seconds: float, overhead_s: float = DEFAULT_OVERHEAD_S) -> TimeBudget:
    """Return the budget of a fixed time a move, of which the overhead takes at most a fifth."""
    limit = max(MIN_BUDGET_S, seconds - min(overhead_s, seconds / 5))
    return TimeBudget(limit, limit)


class TimeManager:
    """Divides the clock of one player among the moves of one game."""

    def __init__(self, overhead_s: float = DEFAULT_OVERHEAD_S) -> None:
        self.overhead_s = overhead_s
        self.new_game()

    def new_game(self) -> None:
        """Forget the time saved."""
        self._saved_s = 0.0
        self._soft_s: float | None = None
        self._is_first = True

    def budget(self, left: TimeLeft, *, ply: int) -> TimeBudget:
        """Return the budget of the move at `ply`: at least 1 ms, otherwise less than the clock."""
        time_s, increment_s = max(0.0, left.time_s), max(0.0, left.increment_s)
        moves = estimated_moves_to_go(ply)
        largest_share = _LARGEST_SHARE
        if left.moves_to_go is not None and left.moves_to_go >= 1:
            moves = min(moves, left.moves_to_go)
            largest_share = max(largest_share, 0.9 / left.moves_to_go)
        moves = max(1.0, moves)
        usable = time_s - self.overhead_s
        hard = max(MIN_BUDGET_S, min(largest_share * time_s + 0.9 * increment_s, usable))
        saved = min(self._saved_s, max(0.0, usable))
        soft = max(0.0, usable + increment_s * (moves - 1) - saved) / moves
        if self._is_first:
            soft *= 1 + _FIRST_MOVE_BONUS + _BOOK_PLY_BONUS * min(_BOOK_PLIES, max(0, ply))
        soft = max(MIN_BUDGET_S, min(soft + saved, hard))
        self._soft_s = soft
        self._is_first = False
        return TimeBudget(soft, hard)

    def moved(self, elapsed_s: float) -> None:
        """Note the seconds that the move took; what an early stop saved goes to the next move."""
        if self._soft_s is not None:
            self._saved_s = max(0.0, self._soft_s - elapsed_s)
            self._soft_s = None
