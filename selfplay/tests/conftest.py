"""What the tests of the search share: a tiny net that is the same in any batch, and a loop."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from zerogames.search import FinishedGame, Pool, Search, take_finished

# The tests import small_runs.py beside them.
sys.path.insert(0, str(Path(__file__).parent))
# Ray's actors would starve beside other work on a busy machine; our own Ray sets it itself.
os.environ.setdefault("RAY_worker_niceness", "0")

Planes = NDArray[np.float32]
Answer = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
Evaluate = Callable[[Planes], Answer]


@pytest.fixture
def tiny_net() -> Callable[[int], Evaluate]:
    """Make a net for A actions. All sums are integers: answers do not depend on the batch."""

    def make(action_size: int, seed: int = 0) -> Evaluate:
        def evaluate(planes: Planes) -> Answer:
            flat = planes.reshape(len(planes), int(np.prod(planes.shape[1:]))).astype(np.int64)
            cells = np.arange(flat.shape[1])[:, None]
            actions = np.arange(action_size)[None, :]
            weights = (cells * 37 + actions * 101 + cells * actions * 7 + seed * 13) % 17 - 8
            logits = 1.5 * np.sin(0.731 * (flat @ weights) + 1.37 * actions)
            score = flat @ ((cells[:, 0] * 29 + seed * 5) % 13 - 6)
            value = 0.75 * np.sin(0.377 * score)
            draw = np.full(len(flat), 0.125)
            wdl = np.stack([(1 - draw + value) / 2, draw, (1 - draw - value) / 2], axis=1)
            moves_left = 10.0 + score % 8
            return (
                logits.astype(np.float32),
                wdl.astype(np.float32),
                moves_left.astype(np.float32),
            )

        return evaluate

    return make


@pytest.fixture
def run() -> Callable[..., Search]:
    """Search to the end in batches."""

    def run(search: Search, evaluate: Evaluate, max_batch: int = 1) -> Search:
        while not search.done:
            planes = search.collect(max_batch)
            search.apply(*evaluate(planes))
        return search

    return run


@pytest.fixture
def play() -> Callable[..., list[FinishedGame]]:
    """Play a pool's games to the end; sorted by index."""

    def play(pool: Pool, evaluate: Evaluate) -> list[FinishedGame]:
        games = []
        while not pool.done:
            planes = pool.collect()
            pool.apply(*evaluate(planes))
            games += take_finished(pool)
        return sorted(games, key=lambda game: game.index)

    return play
