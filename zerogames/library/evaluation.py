"""What a net says of a position, without any search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zerogames.evaluate import StateEvaluation, evaluate_states
from zerogames.game import State
from zerogames.library.net import Net, Position, open_state


@dataclass(frozen=True, kw_only=True)
class PositionEvaluation:
    """What a net says of one position, in the view of the side to move."""

    policy: Mapping[str, float]
    """Probability of every legal move by its text, the most likely first; they sum to 1."""
    wdl: tuple[float, float, float]
    """Probabilities that the side to move wins, draws, loses."""
    moves_left: float | None
    """Plies to the end of the game; None for a net that does not estimate them."""

    @property
    def best_move(self) -> str:
        """The most likely move."""
        return next(iter(self.policy))

    @property
    def value(self) -> float:
        """Win minus loss, in [-1, 1]."""
        return self.wdl[0] - self.wdl[2]


def evaluate_position(net: Net, position: Position = None) -> PositionEvaluation:
    """Evaluate one position with a net, without search.

    Args:
        net: From `load_net`.
        position: A state or its text (see `Net.state`); by default the initial position.

    Raises:
        UserError: for text that is no position, or if the game is over there.
    """
    return evaluate_positions(net, [position])[0]


def evaluate_positions(net: Net, positions: Sequence[Position]) -> list[PositionEvaluation]:
    """Evaluate positions in one batch, which is several times as fast as one by one."""
    if not positions:
        return []
    states = [open_state(net, position) for position in positions]
    found = evaluate_states(net.evaluator, states)
    return [_by_move(net, state, one) for state, one in zip(states, found, strict=True)]


def _by_move(net: Net, state: State, found: StateEvaluation) -> PositionEvaluation:
    best_first = sorted(found.policy.items(), key=lambda item: -item[1])
    return PositionEvaluation(
        policy={net.game.format_action(state, action): share for action, share in best_first},
        wdl=found.wdl,
        moves_left=found.moves_left,
    )
