"""Positions that occur several times in a window, and the means of what was found there."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zerogames.data.sample import SAMPLE_HEADER, SampleBatch, unpack
from zerogames.errors import UserError
from zerogames.game import Game, find_encoding

MAX_ACTIONS = 512
"""Policies are held dense; games with more actions hardly repeat positions anyway."""
_CHUNK = 512
_NUM_POLICY = struct.Struct("<10xH")


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseTargets:
    """The targets of each row of a shard."""

    keys: NDArray[np.uint64]
    """`[rows]`: equal for equal observations."""
    numbers: NDArray[np.float32]
    """`[rows, A + 7]`: policy, result, search, moves left."""

    @property
    def num_bytes(self) -> int:
        """Memory it takes."""
        return self.keys.nbytes + self.numbers.nbytes


def check_averaging(game: Game) -> None:
    """Raise `UserError` for a game with too many actions."""
    actions = game.spec.action_size
    if actions > MAX_ACTIONS:
        raise UserError(
            f"average_duplicates is for games with at most {MAX_ACTIONS} actions; "
            f"{game.spec.name} has {actions}"
        )


def dense_targets(samples: Sequence[bytes], game: Game, encoding: str) -> DenseTargets:
    """Read the targets of packed samples."""
    actions = game.spec.action_size
    buffer = SampleBatch.empty(_CHUNK, find_encoding(game, encoding).shape, actions)
    numbers = np.empty((len(samples), actions + 7), np.float32)
    for first in range(0, len(samples), _CHUNK):
        batch = unpack(list(samples[first : first + _CHUNK]), buffer)
        columns = (batch.policy, batch.result, batch.search, batch.moves_left[:, None])
        np.concatenate(columns, axis=1, out=numbers[first : first + _CHUNK])
    keys = [_observation_key(sample) for sample in samples]
    return DenseTargets(keys=np.array(keys, np.uint64), numbers=numbers)


def _observation_key(sample: bytes) -> int:
    """64 bits of a packed sample's planes and legal actions, which lie before its policy."""
    (num_policy,) = _NUM_POLICY.unpack_from(sample)
    observation = sample[SAMPLE_HEADER.size : len(sample) - 6 * num_policy]
    digest = hashlib.blake2b(observation, digest_size=8).digest()
    return int.from_bytes(digest, "little")


class DuplicateMeans:
    """Means of the shards' targets over the rows of a window that show the same position.

    The weights `[rows]` are 0 for rows outside the window.
    """

    def __init__(self, parts: Sequence[DenseTargets], weights: NDArray[np.float64]) -> None:
        keys = np.concatenate([part.keys for part in parts])
        numbers = np.concatenate([part.numbers for part in parts])
        found, groups = np.unique(keys, return_inverse=True)
        self._groups = groups.reshape(-1)
        self._counts = np.bincount(self._groups, weights, len(found))
        sums = [np.bincount(self._groups, weights * column, len(found)) for column in numbers.T]
        means = np.stack(sums, axis=1) / np.maximum(self._counts, 1e-12)[:, None]
        self._means = means.astype(np.float32)

    def weights(
        self, weights: NDArray[np.float64], kind: Literal["linear", "log", "constant"]
    ) -> NDArray[np.float64]:
        """Weights of rows so that a position is drawn as often as `kind` says."""
        if kind == "linear":
            return weights
        counts = np.maximum(self._counts, 1e-12)
        wanted = np.ones_like(counts)
        if kind == "log":
            wanted += np.log2(np.maximum(counts, 1.0))
        return weights * (wanted / counts)[self._groups]

    def apply(
        self,
        batch: SampleBatch,
        rows: NDArray[np.int64],
        action_maps: NDArray[np.int32] | None = None,
    ) -> None:
        """Put the means into a batch that was unpacked from `rows` `[B]`.

        `action_maps` `[B, A]` are the symmetries that the rows were transformed by.
        """
        means = self._means[self._groups[rows]]  # [B, A + 7]
        actions = batch.policy.shape[1]
        policy = means[:, :actions]
        if action_maps is not None:
            policy = np.take_along_axis(policy, action_maps, axis=1)
        batch.policy[:] = policy
        batch.result[:] = means[:, actions : actions + 3]
        batch.search[:] = means[:, actions + 3 : actions + 6]
        batch.moves_left[:] = means[:, actions + 6]
