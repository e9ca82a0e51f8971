"""What a net says of one position, without search."""

from collections.abc import Mapping
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


def evaluate_state(evaluator: Evaluator, state: State) -> StateEvaluation:
    """Evaluate one position."""
    planes = np.ascontiguousarray(state.observe(evaluator.encoding)[None])  # [1, P, H, W]
    logits, wdl, moves_left = evaluator.evaluate(planes)  # [1, A], [1, 3], [1]
    legal = state.legal_actions()  # [L]
    weights = np.exp(logits[0, legal] - logits[0, legal].max(initial=-np.inf))
    win, draw, loss = wdl[0].tolist()
    return StateEvaluation(
        policy=dict(zip(legal.tolist(), (weights / weights.sum()).tolist(), strict=True)),
        wdl=(win, draw, loss),
        moves_left=None if moves_left is None else float(moves_left[0]),
    )
