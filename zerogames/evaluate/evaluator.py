"""The interface of all evaluators."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from zerogames.nets.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The properties of an evaluator that a caller needs to keep it busy."""

    batch_size: int
    """Positions per call at which it is fastest; any other number works too."""
    threads: int
    """CPU threads that one call uses."""
    device: str = "cpu"
    precision: str = "fp32"
    needs_observation: bool = True
    """False: only the number of positions matters, so no leaf has to be encoded."""


class Evaluator(Protocol):
    """Evaluates batches of positions. Not safe for two threads at once: give each its own."""

    @property
    def capabilities(self) -> Capabilities:
        """The batch sizes and threads with which it is fastest."""

    @property
    def version(self) -> str:
        """A text that changes when the answers change; it keys caches and is kept in records."""

    @property
    def encoding(self) -> str:
        """The encoding of the planes it expects."""

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Evaluate planes `[B, P, H, W]`, contiguous. The caller may keep the arrays."""


@runtime_checkable
class AnalysingEvaluator(Evaluator, Protocol):
    """Tells more of a position than the search needs."""

    @property
    def analyses(self) -> Sequence[str]:
        """The names of what `analyse` tells; empty for a net without such heads."""

    def analyse(self, planes: NDArray[np.float32]) -> Mapping[str, NDArray[np.float32]]:
        """What `zerogames.nets.model.Model.analyse` gives for planes `[B, P, H, W]`, by name."""


@runtime_checkable
class OverlappingEvaluator(Evaluator, Protocol):
    """Can begin a batch while it computes others, so that no thread waits for the search."""

    def start(self, planes: NDArray[np.float32]) -> Callable[[], Evaluation]:
        """Begin to evaluate planes, which must not change until the returned function is called."""
