"""How many positions a second an evaluator does here."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zerogames.evaluate.evaluator import Evaluator

SLOW_S = 0.1
"""Batches grow until one takes so long."""


class Speed(NamedTuple):
    """A measurement."""

    positions_per_s: float
    batch: int
    """Positions in a call."""

    def describe(self, capabilities: str) -> str:
        """One line."""
        rate = self.positions_per_s
        number = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        return f"{number} positions/s in batches of {self.batch}, {capabilities}"


def measure_speed(evaluator: Evaluator, shape: Sequence[int], *, seconds: float = 0.5) -> Speed:
    """Evaluate empty positions for some time.

    Args:
        evaluator: What is measured.
        shape: Of one position's planes.
        seconds: The least time of the measurement; one batch more than that at most.
    """
    batch, taken = 1, 0.0
    while True:
        planes = np.zeros((batch, *shape), np.float32)
        start = time.perf_counter()
        evaluator.evaluate(planes)
        taken = time.perf_counter() - start
        if taken >= SLOW_S or batch >= evaluator.capabilities.batch_size:
            break
        batch = min(2 * batch, evaluator.capabilities.batch_size)
    rounds, start = 0, time.perf_counter()
    while rounds == 0 or time.perf_counter() - start < seconds:
        evaluator.evaluate(planes)
        rounds += 1
    return Speed(rounds * batch / (time.perf_counter() - start), batch)
