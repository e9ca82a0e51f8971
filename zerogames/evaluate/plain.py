"""Evaluators without a net: for tests, benchmarks and the first steps of a new game."""

import zlib

import numpy as np
from numpy.typing import NDArray

from zerogames.evaluate.evaluator import Capabilities
from zerogames.game import Game
from zerogames.nets.evaluation import Evaluation


class ConstantEvaluator:
    """Gives every move the same logit and every position a draw; costs nothing."""

    version = "constant"

    def __init__(self, game: Game) -> None:
        self.encoding = next(iter(game.encodings))
        self.capabilities = Capabilities(batch_size=64, threads=1, needs_observation=False)
        self._action_size = game.spec.action_size

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Read the number of positions, nothing else."""
        batch = len(planes)
        wdl = np.zeros((batch, 3), np.float32)
        wdl[:, 1] = 1
        return Evaluation(np.zeros((batch, self._action_size), np.float32), wdl, None)


class RandomEvaluator:
    """Gives each position random numbers, the same position always the same ones."""

    def __init__(self, game: Game, *, seed: int = 0) -> None:
        self.version = f"random-{seed}"
        self.encoding = next(iter(game.encodings))
        self.capabilities = Capabilities(batch_size=64, threads=1)
        self._seed = seed
        self._columns = np.arange(game.spec.action_size + 3, dtype=np.uint64)

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Hash the planes of each position."""
        keys = np.array([zlib.crc32(row.tobytes(), self._seed) for row in planes], np.uint64)
        noise = _uniform((keys[:, None] << np.uint64(20)) + self._columns)
        wdl = noise[:, -3:] + np.float32(1e-3)
        return Evaluation(
            np.ascontiguousarray(4 * noise[:, :-3] - 2),
            wdl / wdl.sum(axis=1, keepdims=True),
            None,
        )


def _uniform(values: NDArray[np.uint64]) -> NDArray[np.float32]:
    """SplitMix64's finaliser as numbers in [0, 1)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((values ^ (values >> np.uint64(31))) >> np.uint64(40)).astype(np.float32) / np.float32(
        1 << 24
    )
