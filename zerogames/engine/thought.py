"""What a search found."""

from dataclasses import dataclass

from zerogames.engine.limits import ThinkLimits
from zerogames.engine.score import mate_in, wdl_of
from zerogames.engine.stopping import StopRule
from zerogames.search import Search

LINE_LENGTH = 32
"""The longest principal variation, in plies."""


@dataclass(frozen=True, kw_only=True)
class MoveThought:
    """One root move; values are in the view of the player to move at the root."""

    action: int
    visits: int
    value: float
    """Mean of win minus loss, in [-1, 1]; the position's own value for a move without visits."""
    draw: float
    """Probability of a draw."""
    prior: float
    """The net's policy after the temperature of the settings."""
    moves_left: float
    """Plies from the root to the end of the game."""
    proven: int | None
    """+1, 0 or -1 if the result of the move is certain."""
    line: tuple[int, ...]
    """The principal variation that begins with `action`."""

    @property
    def mate(self) -> int | None:
        """Own moves to a certain win, negative for a loss."""
        return None if self.proven is None else mate_in(self.proven, self.moves_left)

    @property
    def wdl(self) -> tuple[float, float, float]:
        """Probabilities of win, draw and loss."""
        return wdl_of(self.value, self.draw)


@dataclass(frozen=True, kw_only=True)
class Thought:
    """What a search knows of its position, in the view of the player to move."""

    best: int | None
    """The move to play; None when the game is over."""
    moves: tuple[MoveThought, ...]
    """All moves that were allowed: `best` first, then by visits and value."""
    value: float
    """Mean of all evaluations, in [-1, 1]."""
    draw: float
    """Mean probability of a draw."""
    net_value: float
    """The net's own evaluation of the position."""
    nodes: int
    """Visits of the root, including those kept from earlier moves."""
    new_nodes: int
    """Visits of the root by this search."""
    evaluations: int
    """Positions that the net evaluated for this search; the other nodes were proven, ended games
    or cached."""
    elapsed_s: float
    """Seconds since the search began."""
    depth: int
    """Mean length of the lines searched, in plies."""
    seldepth: int
    """The longest line searched, in plies."""
    hashfull: int
    """Use of the evaluation cache in thousandths."""

    @property
    def nodes_per_s(self) -> float:
        """Visits per second of this search."""
        return self.new_nodes / max(self.elapsed_s, 1e-3)

    @property
    def wdl(self) -> tuple[float, float, float]:
        """Probabilities of win, draw and loss for the best move."""
        return self.moves[0].wdl if self.moves else wdl_of(self.value, self.draw)


def read_thought(
    search: Search, limits: ThinkLimits, rule: StopRule, *, evaluations: int
) -> Thought:
    """Read what a search knows at this moment."""
    return Thought(
        best=search.choose(0.0) if len(search.actions) else None,
        moves=_read_moves(search, limits),
        value=float(search.value),
        draw=float(search.draw),
        net_value=float(search.net_value),
        nodes=search.simulations + 1,
        new_nodes=rule.new_nodes,
        evaluations=evaluations,
        elapsed_s=rule.elapsed_s,
        depth=max(1, round(search.mean_depth)),
        seldepth=max(1, search.max_depth),
        hashfull=min(1000, round(1000 * search.cache_fill)),
    )


def _read_moves(search: Search, limits: ThinkLimits) -> tuple[MoveThought, ...]:
    actions = search.actions
    if len(actions) == 0:
        return ()
    best = search.choose(0.0)
    visits, values, draws = search.visits, search.values, search.draws
    priors, left = search.priors, search.moves_left_of_actions
    low, high = search.lower_bounds, search.upper_bounds
    allowed = None if limits.allowed is None else set(limits.allowed)
    rows = [row for row, action in enumerate(actions) if allowed is None or int(action) in allowed]

    def order(row: int) -> tuple[bool, float, int, float, float]:
        return (
            actions[row] != best,
            0 if high[row] > -1 else 1,
            -int(visits[row]),
            -float(values[row]) if visits[row] else 0.0,
            -float(priors[row]),
        )

    found = []
    for rank, row in enumerate(sorted(rows, key=order)):
        action, visited = int(actions[row]), visits[row] > 0
        wanted = rank < limits.lines
        line = search.principal_variation(LINE_LENGTH, action) if wanted else (action,)
        found.append(
            MoveThought(
                action=action,
                visits=int(visits[row]),
                value=float(values[row]) if visited else float(search.value),
                draw=float(draws[row]) if visited else float(search.draw),
                prior=float(priors[row]),
                moves_left=float(left[row]) if visited else float(search.moves_left),
                proven=int(low[row]) if visited and low[row] == high[row] else None,
                line=tuple(int(step) for step in line),
            )
        )
    return tuple(found)
