"""What a net says of positions, without search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zerogames.evaluate.evaluator import Evaluator
from zerogames.game import State


@dataclass(frozen=True, kw_only=True)
class StateEvaluation:
    """A net's evaluation of one position, in the view of the side to move."""

    policy: Mapping[int, float]
    """Probability of each legal action; they sum to 1."""
    wdl: tuple[float, float, float]
    """Probabilities of win, draw and loss."""
    moves_left: float | None
    """Plies to the end of the game; None for a net that does not estimate them."""


def evaluate_states(evaluator: Evaluator, states: Sequence[State]) -> list[StateEvaluation]:
    """Evaluate positions in one batch."""
    planes = np.stack([state.observe(evaluator.encoding) for state in states])  # [B, P, H, W]
    logits, wdl, moves_left = evaluator.evaluate(planes)  # [B, A], [B, 3], [B]
    found = []
    for row, state in enumerate(states):
        legal = state.legal_actions()  # [L]
        weights = np.exp(logits[row, legal] - logits[row, legal].max(initial=-np.inf))
        win, draw, loss = wdl[row].tolist()
        found.append(
            StateEvaluation(
                policy=dict(zip(legal.tolist(), (weights / weights.sum()).tolist(), strict=True)),
                wdl=(win, draw, loss),
                moves_left=None if moves_left is None else float(moves_left[row]),
            )
        )
    return found
