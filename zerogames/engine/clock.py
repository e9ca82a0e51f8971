"""How long to think: shares of a clock, and when to give a move more or less than its share.

The share is lc0's: an estimate of the moves to come that shrinks as the game goes on. Seconds
throughout.
"""

from dataclasses import dataclass

MIN_BUDGET_S = 0.001
DEFAULT_OVERHEAD_S = 0.1
"""Lost between the engine and the clock: slow user interfaces, pipes, a busy machine."""

_MIDPOINT = 51.5
_STEEPNESS = 7
"""Of lc0's curve of moves to go."""
_FIRST_MOVE_BONUS = 1.8
_BOOK_PLY_BONUS = 0.25
_BOOK_PLIES = 12
"""The first search starts without a tree, so it gets more; and more still after a book."""
_LARGEST_SHARE = 0.25
"""Of the clock for one move, unless the next time control is near."""


@dataclass(frozen=True, kw_only=True)
class TimeLeft:
    """A player's clock before a move."""

    time_s: float
    increment_s: float = 0.0
    """Added after each move."""
    moves_to_go: int | None = None
    """Until time is added; None or below 1: never."""


@dataclass(frozen=True)
class Budget:
    """For one move."""

    soft_s: float
    """Worth spending."""
    hard_s: float
    """Never exceeded."""


def estimated_moves_to_go(ply: int) -> float:
    """Moves the mover expects to play still (lc0): 51.5 at first, fewer and fewer later."""
    moves = max(0, ply) / 2
    stretch = (1 + 2 * (moves / _MIDPOINT) ** _STEEPNESS) ** (1 / _STEEPNESS)
    return float(_MIDPOINT * stretch - moves)


def move_time_budget(seconds: float, overhead_s: float = DEFAULT_OVERHEAD_S) -> Budget:
    """For a fixed time a move. The overhead takes a fifth of it at most."""
    limit = max(MIN_BUDGET_S, seconds - min(overhead_s, seconds / 5))
    return Budget(limit, limit)


class TimeManager:
    """Shares out the clock of one player over one game."""

    def __init__(self, overhead_s: float = DEFAULT_OVERHEAD_S) -> None:
        self.overhead_s = overhead_s
        self.new_game()

    def new_game(self) -> None:
        """Forget what was saved."""
        self._saved_s = 0.0
        self._soft_s: float | None = None
        self._is_first = True

    def budget(self, left: TimeLeft, *, ply: int) -> Budget:
        """For the move at `ply`; at least a millisecond, and else never the whole clock."""
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
        return Budget(soft, hard)

    def moved(self, elapsed_s: float) -> None:
        """Tell what the move took: time that an early stop saved goes to the next move."""
        if self._soft_s is not None:
            self._saved_s = max(0.0, self._soft_s - elapsed_s)
            self._soft_s = None


@dataclass(frozen=True, kw_only=True)
class Leaders:
    """The race at the root, as far as stopping needs it."""

    first_visits: int
    second_visits: int
    best_by_value: bool
    """The most visited move also has the best value among those with a tenth of its visits."""
    settled_share: float
    """Share of the time so far in which it has been the most visited one."""
    value_drop: float
    """How much worse the position looks than at the start of the search or on the last move."""


def patience(leaders: Leaders) -> float:
    """The factor on the soft limit: above 1 in doubt and when things go wrong, below when calm."""
    factor = 1.0
    if not leaders.best_by_value:
        factor += 0.5
    if leaders.settled_share < 0.4:
        factor += 0.4
    factor += min(0.6, max(0.0, 4 * leaders.value_drop))
    if factor == 1.0 and leaders.settled_share > 0.9:
        factor = 0.85
    return factor


SMART_PRUNING = 1.33
"""Lc0's factor: visits still to come are divided by it before they are compared."""


def cannot_change(leaders: Leaders, *, left_s: float, nodes: int, elapsed_s: float) -> bool:
    """Whether the second move is too far behind to be first when the time is over (lc0).

    `nodes` were searched in `elapsed_s`; 300 more are pretended against early misjudgement.
    """
    rate = (nodes + 300) / max(elapsed_s, 1e-3)
    return left_s * rate / SMART_PRUNING < leaders.first_visits - leaders.second_visits
