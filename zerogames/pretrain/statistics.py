"""Means, deviations and Student's t-test for a few runs of each net."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import numpy as np

_NODES = 20_001


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the standard deviation of a sample (n - 1); not a number for one value."""
    return fmean(values), stdev(values) if len(values) > 1 else math.nan


def welch_test(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p that both samples have one mean, their deviations being their own (Welch).

    Not a number with fewer than two values on a side.
    """
    if len(a) < 2 or len(b) < 2:
        return math.nan
    (mean_a, deviation_a), (mean_b, deviation_b) = mean_and_deviation(a), mean_and_deviation(b)
    part_a, part_b = deviation_a**2 / len(a), deviation_b**2 / len(b)
    if part_a + part_b == 0:
        return 1.0 if mean_a == mean_b else 0.0
    t = (mean_a - mean_b) / math.sqrt(part_a + part_b)
    freedom = (part_a + part_b) ** 2 / (part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1))
    return student_tails(t, freedom)


def student_tails(t: float, freedom: float) -> float:
    """The chance of a value farther from 0 than `t`, for `freedom` of 1 or more."""
    # With t = sqrt(freedom) tan(angle) the density becomes cos(angle) ** (freedom - 1).
    first = math.atan(abs(t) / math.sqrt(freedom))
    angles = np.linspace(first, math.pi / 2, _NODES)
    area = float(np.trapezoid(np.cos(angles) ** (freedom - 1), angles))
    log_norm = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    return min(1.0, 2 * area * math.exp(log_norm) / math.sqrt(math.pi))
