"""What a search and a pool have in common: both give out leaves and take their evaluations."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class LeafSource(Protocol):
    """One tree or many; one thread at a time may use it."""

    def apply(
        self,
        policy_logits: NDArray[np.float32],
        wdl: NDArray[np.float32],
        moves_left: NDArray[np.float32] | None = None,
    ) -> None:
        """Complete the oldest batch: `[B, A]` logits, `[B, 3]` probabilities, `[B]` plies left."""

    @property
    def done(self) -> bool:
        """Whether there is nothing left to search, and no batch waits."""

    @property
    def tree_bytes(self) -> int:
        """Memory set aside for the trees."""

    @property
    def cache_hits(self) -> int:
        """Leaves found in the evaluation cache."""

    @property
    def cache_misses(self) -> int:
        """Leaves not found there."""

    @property
    def net_version(self) -> int:
        """Part of the cache's key, and noted in games that begin: change it with the net."""

    @net_version.setter
    def net_version(self, version: int) -> None: ...
