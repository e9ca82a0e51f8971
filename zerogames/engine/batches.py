"""Batches of leaves on their way from a search to an evaluator and back."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from zerogames.evaluate import Evaluation, Evaluator, OverlappingEvaluator
from zerogames.search import Search

_Start = Callable[[NDArray[np.float32]], Callable[[], Evaluation]]
"""Begins to evaluate planes; what it returns waits for the evaluation."""


@dataclass(frozen=True)
class _Batch:
    """A batch that is being evaluated."""

    began: float
    rows: int
    answer: Callable[[], Evaluation]


class LeafBatches:
    """The batches of one search that are being evaluated.

    There are two at a time with an evaluator that overlaps them on several threads, else one.
    """

    def __init__(
        self, search: Search, evaluator: Evaluator, shape: tuple[int, int, int], max_leaves: int
    ) -> None:
        """`shape` is that of one position's planes, `max_leaves` counts all batches together."""
        self._search = search
        self._max_leaves = max_leaves
        self._batches: deque[_Batch] = deque()
        self._buffers: list[NDArray[np.float32] | None] = [None]  # One batch: the search's own.
        self._start: _Start = lambda planes: partial(evaluator.evaluate, planes)
        # With one thread nothing would compute the second batch.
        if evaluator.capabilities.threads > 1 and isinstance(evaluator, OverlappingEvaluator):
            rows = -(-max_leaves // 2)
            self._buffers = [np.empty((rows, *shape), np.float32) for _ in range(2)]
            self._start = evaluator.start
        self.evaluations = 0
        """Positions sent to the evaluator."""
        self.batch_s = 0.0
        """Seconds that the last batch took."""
        self._row_s = 0.0

    def collect(self, left_s: float | None) -> None:
        """Start as many batches as there may be; small ones if only `left_s` seconds are left."""
        while len(self._batches) < len(self._buffers):
            began = time.monotonic()
            planes = self._search.collect(self._size(left_s), self._buffers[0])
            if not len(planes):
                return
            self._buffers.append(self._buffers.pop(0))
            self._batches.append(_Batch(began, len(planes), self._start(planes)))
            self.evaluations += len(planes)

    def apply(self) -> None:
        """Wait for the oldest batch and give its evaluations to the search."""
        if self._batches:
            batch = self._batches.popleft()
            self._search.apply(*batch.answer())
            self.batch_s = time.monotonic() - batch.began
            self._row_s = self.batch_s / batch.rows

    def apply_all(self) -> None:
        """Wait for all batches."""
        while self._batches:
            self.apply()

    def _size(self, left_s: float | None) -> int:
        # Leaves chosen together know less of each other, which matters most in a young tree.
        rows = min(self._max_leaves, self._search.simulations // 4 + 1)
        rows = -(-rows // len(self._buffers))
        if left_s is not None and self._row_s > 0:
            rows = min(rows, int(left_s / (2 * self._row_s)))
        return max(1, rows)
