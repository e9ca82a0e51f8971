"""A shard as packed samples in one piece of memory, ready to be drawn from."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerogames.data.formats import ReadContext
from zerogames.data.record import SEARCH_KINDS, GameRecord
from zerogames.data.record_game import RecordGame
from zerogames.data.shard import read_shard
from zerogames.errors import UserError
from zerogames.train.duplicates import DenseTargets, dense_targets
from zerogames.train.surprise import surprise_weights

_FAST = SEARCH_KINDS.index("fast")


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardSamples:
    """All positions of a shard that can be drawn."""

    path: Path
    data: bytes
    """Packed samples end to end."""
    ends: NDArray[np.int64]
    """`[rows]`: where each sample ends in `data`."""
    weights: NDArray[np.float64]
    """`[rows]`: how often each is drawn; they sum to `num_positions`."""
    num_positions: int
    """Positions with a full search, which is what the run counts."""
    num_games: int
    num_unfinished: int
    """Games without a result, which give no positions."""
    targets: DenseTargets | None = None
    """For means over duplicates, if they are wanted."""

    @property
    def num_bytes(self) -> int:
        """Memory it takes."""
        dense = 0 if self.targets is None else self.targets.num_bytes
        return len(self.data) + self.ends.nbytes + self.weights.nbytes + dense

    def __len__(self) -> int:
        return len(self.ends)

    def sample(self, row: int) -> bytes:
        """One packed sample."""
        first = int(self.ends[row - 1]) if row else 0
        return self.data[first : int(self.ends[row])]


def read_shard_samples(
    path: Path,
    context: ReadContext,
    *,
    surprise_share: float | None = None,
    with_targets: bool = False,
) -> ShardSamples:
    """Read and replay a whole shard; raise `UserError` with its name if any game is broken.

    Args:
        path: The shard.
        context: Game and encoding.
        surprise_share: For weights by surprise; None gives all positions the same.
        with_targets: Whether to hold the targets dense, for means over duplicates.
    """
    samples: list[bytes] = []
    weights: list[NDArray[np.float64]] = []
    unfinished = positions = 0
    records = read_shard(path)
    for number, record in enumerate(records, 1):
        if record.result is None:
            unfinished += 1
            continue
        game = RecordGame(f"{path} game {number}", "shard", record, context)
        try:
            if surprise_share is None or record.search is None:
                chosen = np.arange(game.num_positions, dtype=np.int32)
                samples += game.samples(chosen)
                weights.append(np.ones(len(chosen)))
            else:
                drawn = _surprise_rows(record, game.plies, surprise_share)
                plies = np.flatnonzero(drawn > 0).astype(np.int32)
                samples += replace(game, chosen_plies=plies).samples(
                    np.arange(len(plies), dtype=np.int32)
                )
                weights.append(drawn[plies])
        except UserError as error:
            raise UserError(f"{path}: game {number}: {error}") from None
        positions += game.num_positions
    return ShardSamples(
        path=path,
        data=b"".join(samples),
        ends=np.cumsum([len(sample) for sample in samples], dtype=np.int64),
        weights=np.concatenate([np.empty(0), *weights]),
        num_positions=positions,
        num_games=len(records),
        num_unfinished=unfinished,
        targets=dense_targets(samples, context.game, context.encoding) if with_targets else None,
    )


def _surprise_rows(
    record: GameRecord, full: NDArray[np.int32], share: float
) -> NDArray[np.float64]:
    """Weights of all plies; cheap searches may get some, moves without a policy never."""
    search = record.search
    assert search is not None
    weights = np.zeros(len(record.actions))
    weights[full] = 1
    has_policy = np.diff(search.policy_offsets) > 0
    eligible = (weights > 0) | ((search.kinds == _FAST) & has_policy)
    surprise = np.where(eligible, np.nan_to_num(search.surprise.astype(np.float64)), 0.0)
    return surprise_weights(weights, np.maximum(surprise, 0.0), share=share)
