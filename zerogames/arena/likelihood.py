"""Maximising the likelihoods of rating models, which are concave."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def maximise(
    slope_and_information: Callable[[Vector], tuple[Vector, Vector]],
    start: Vector,
    *,
    limit: float = math.inf,
) -> Vector:
    """Newton's method; steps are kept short where the likelihood is flat.

    Args:
        slope_and_information: The slope `[K]` and the negative curvature `[K, K]` at a point.
        start: The point to start from, `[K]`.
        limit: The largest size of a coordinate, for likelihoods that rise without end.
    """
    found = start
    for _ in range(200 if len(start) else 0):
        slope, information = slope_and_information(found)
        # A pool in pieces without a prior has flat directions: least squares stands still there.
        step = np.linalg.lstsq(information, slope, rcond=1e-14)[0]
        step /= max(1.0, float(np.abs(step).max()))
        found = np.clip(found + step, -limit, limit)
        if np.abs(step).max() < 1e-12:
            break
    return found
