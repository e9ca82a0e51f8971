"""How far a faster form of a net agrees with the net."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerogames.export.calibration import Evaluate, Positions
from zerogames.nets.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The agreement of a faster form with the net on some positions, legal moves alone."""

    positions: int
    top1: float
    """The share of positions with the same best move."""
    divergence: float
    """The mean Kullback-Leibler divergence of the policies, in nats."""
    value_error: float
    """The mean difference of win minus loss, in [0, 2]."""
    largest_value_error: float

    def describe(self) -> str:
        """One line."""
        return (
            f"same best move in {self.top1:.1%} of {self.positions} positions, policies differ by "
            f"{self.divergence:.4f} nats, values by {self.value_error:.4f} "
            f"(at most {self.largest_value_error:.3f})"
        )


def evaluate_all(evaluate: Evaluate, planes: NDArray[np.float32]) -> Evaluation:
    """Evaluate any number of positions, in batches."""
    parts = [
        evaluate(np.ascontiguousarray(planes[first : first + 64]))
        for first in range(0, len(planes), 64)
    ]
    return Evaluation(
        np.concatenate([part.policy_logits for part in parts]),
        np.concatenate([part.wdl for part in parts]),
        None,
    )


def measure_agreement(ours: Evaluation, right: Evaluation, positions: Positions) -> Agreement:
    """Compare two evaluations of the same positions."""
    mine, theirs = (
        _log_policy(evaluation.policy_logits, positions.legal) for evaluation in (ours, right)
    )
    values = [wdl[:, 0].astype(np.float64) - wdl[:, 2] for wdl in (ours.wdl, right.wdl)]
    errors = np.abs(values[0] - values[1])
    ratios = np.subtract(theirs, mine, where=positions.legal, out=np.zeros_like(mine))
    return Agreement(
        positions=len(positions),
        top1=float((mine.argmax(axis=1) == theirs.argmax(axis=1)).mean()),
        divergence=max(0.0, float((np.exp(theirs) * ratios).sum(axis=1).mean())),
        value_error=float(errors.mean()),
        largest_value_error=float(errors.max()),
    )


def _log_policy(logits: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    masked: NDArray[np.float64] = np.where(legal, logits.astype(np.float64), -np.inf)
    masked -= masked.max(axis=1, keepdims=True)
    masked -= np.log(np.exp(masked).sum(axis=1, keepdims=True))
    return masked
