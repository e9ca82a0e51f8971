"""What an evaluator is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What callers need to know to keep an evaluator busy."""

    batch_size: int
    """Positions per call that it likes best; fewer and more work too."""
    threads: int
    """CPU threads one call uses."""
    device: str = "cpu"
    precision: str = "fp32"
    needs_observation: bool = True
    """False: only the number of positions matters, so no leaf has to be encoded."""


class Evaluation(NamedTuple):
    """Judgements of B positions, all in the side to move's view."""

    policy_logits: NDArray[np.float32]
    """`[B, A]`, before any softmax; illegal actions included."""
    wdl: NDArray[np.float32]
    """`[B, 3]` probabilities of win, draw, loss."""
    moves_left: NDArray[np.float32] | None
    """`[B]` plies, if the net predicts them."""


class Evaluator(Protocol):
    """Judges batches of positions. Not safe for two threads at once: give each its own."""

    @property
    def capabilities(self) -> Capabilities:
        """How to use it."""

    @property
    def version(self) -> str:
        """Changes when the answers change; keys caches and is kept in records."""

    @property
    def encoding(self) -> str:
        """The encoding of the planes it expects."""

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Judge planes `[B, P, H, W]`, contiguous. The arrays are the caller's to keep."""


@runtime_checkable
class OverlappingEvaluator(Evaluator, Protocol):
    """Begins a batch while it works on others, so that none of its threads waits for the search."""

    def start(self, planes: NDArray[np.float32]) -> Callable[[], Evaluation]:
        """Begin to judge planes, which must stay as they are until the result is called."""
