"""What a search is allowed, and what it found."""

from dataclasses import dataclass

from zerogames.engine.score import mate_in


@dataclass(frozen=True, kw_only=True)
class ThinkLimits:
    """When to stop thinking; the first limit that is met ends it. None of them: until `stop`."""

    nodes: int | None = None
    """Visits of the root, its own evaluation and those kept from earlier moves included; 1 plays
    the net's favourite."""
    depth: int | None = None
    """Mean length of the lines searched."""
    soft_s: float | None = None
    """Time worth spending: exceeded up to `hard_s` while the best move is in doubt, not used up
    when it cannot change."""
    hard_s: float | None = None
    """Never exceeded by more than one evaluation of the root."""
    infinite: bool = False
    """Wait for `stop` even when there is nothing left to search."""
    ponder: bool = False
    """Think on the opponent's time: no limit counts before `ponder_hit`."""
    allowed: tuple[int, ...] | None = None
    """The root actions to choose from."""
    lines: int = 1
    """How many of the best moves are wanted with a line each; above 1 the search does not stop
    early."""


@dataclass(frozen=True, kw_only=True)
class MoveThought:
    """One move of the position; values in the view of the player to move there."""

    action: int
    visits: int
    value: float
    """In [-1, 1]; the position's own for a move without visits."""
    draw: float
    """Probability."""
    prior: float
    """The net's policy, after the settings' temperature."""
    moves_left: float
    """Plies from here to the end."""
    proven: int | None
    """+1, 0 or -1 if the result of the move is certain."""
    line: tuple[int, ...]
    """The best line, beginning with `action`."""

    @property
    def mate(self) -> int | None:
        """Own moves to a certain win, negative for a loss."""
        return None if self.proven is None else mate_in(self.proven, self.moves_left)


@dataclass(frozen=True, kw_only=True)
class Thought:
    """What is known of a position after some thinking, in the view of the player to move."""

    best: int | None
    """The move to play; None when the game is over."""
    moves: tuple[MoveThought, ...]
    """All that were allowed, `best` first, then by visits and value."""
    value: float
    """Mean of all evaluations, in [-1, 1]."""
    draw: float
    net_value: float
    """The net's own evaluation of the position."""
    nodes: int
    """Visits of the root, those kept from earlier moves included."""
    new_nodes: int
    """Visits of this search."""
    evaluations: int
    """Positions the net judged in this search; the other nodes were proven, over or cached."""
    elapsed_s: float
    depth: int
    """Mean length of the lines searched."""
    seldepth: int
    """Longest of them."""
    hashfull: int
    """Use of the evaluation cache in thousandths."""

    @property
    def nodes_per_s(self) -> float:
        """Of this search."""
        return self.new_nodes / max(self.elapsed_s, 1e-3)

    @property
    def wdl(self) -> tuple[float, float, float]:
        """Probabilities of win, draw and loss for the best move."""
        best = self.moves[0] if self.moves else None
        value, draw = (best.value, best.draw) if best else (self.value, self.draw)
        return win_draw_loss(value, draw)


def win_draw_loss(value: float, draw: float) -> tuple[float, float, float]:
    """Probabilities from win minus loss and draw."""
    draw = max(0.0, min(draw, 1 - abs(value)))
    return (1 + value - draw) / 2, draw, (1 - value - draw) / 2
