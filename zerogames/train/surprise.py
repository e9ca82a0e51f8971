"""Weights for positions whose search surprised the net: KataGo's policy surprise weighting."""

import numpy as np
from numpy.typing import NDArray

EXCESS = 1.5
"""A row without weight of its own counts only for what it surprises beyond this many means."""


def surprise_weights(
    weights: NDArray[np.float64], surprise: NDArray[np.float64], *, share: float = 0.5
) -> NDArray[np.float64]:
    """Distribute `share` of one game's weight by surprise; the sum stays.

    Args:
        weights: `[plies]`, 0 to 1: a full search 1, a cheap one 0.
        surprise: `[plies]`: divergence of the search's policy from the net's, 0 or more.
        share: Of the weight.
    """
    total = float(weights.sum())
    if total < 1:
        return weights
    mean = float((weights * surprise).sum()) / total
    excess = np.maximum(0.0, surprise - EXCESS * mean)
    proportions = weights * surprise + (1 - weights) * excess
    all_proportions = float(proportions.sum())
    if all_proportions <= 0:
        return weights
    return (1 - share) * weights + share * proportions * (total / all_proportions)
