"""A shard as packed samples in one piece of memory, ready to be drawn from."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerogames.data.ends import EndReader
from zerogames.data.formats import ReadContext
from zerogames.data.record import SEARCH_KINDS, GameRecord
from zerogames.data.record_game import RecordGame
from zerogames.data.shard import read_shard
from zerogames.errors import UserError
from zerogames.train.duplicates import DenseTargets, dense_targets
from zerogames.train.surprise import surprise_weights

_FAST = SEARCH_KINDS.index("fast")


@dataclass(frozen=True, kw_only=True, eq=False)
class GameEnds:
    """The ends of the games of a shard."""

    columns: NDArray[np.float32]
    """`[games, K]`, first player's view; zeros where unknown."""
    known: NDArray[np.float32]
    """`[games]`: 1 or 0."""
    games: NDArray[np.int32]
    """`[rows]`: the game of each sample."""
    signs: NDArray[np.float32]
    """`[rows]`: -1 where the second player is to move."""

    @property
    def num_bytes(self) -> int:
        """Memory it takes."""
        return sum(part.nbytes for part in (self.columns, self.known, self.games, self.signs))


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardSamples:
    """All positions of a shard that can be drawn."""

    path: Path
    data: bytes
    """Packed samples end to end."""
    stops: NDArray[np.int64]
    """`[rows]`: where each sample ends in `data`."""
    weights: NDArray[np.float64]
    """`[rows]`: how often each is drawn; they sum to `num_positions`."""
    num_positions: int
    """Positions with a full search, which is what the run counts."""
    num_games: int
    num_unfinished: int
    """Games without a result, which give no positions."""
    targets: DenseTargets | None = None
    """The targets for means over duplicates, if they are wanted."""
    games: GameEnds | None = None
    """The ends of the games, if they are wanted."""

    @property
    def num_bytes(self) -> int:
        """Memory it takes."""
        more = [part.num_bytes for part in (self.targets, self.games) if part is not None]
        return len(self.data) + self.stops.nbytes + self.weights.nbytes + sum(more)

    def __len__(self) -> int:
        return len(self.stops)

    def sample(self, row: int) -> bytes:
        """One packed sample."""
        first = int(self.stops[row - 1]) if row else 0
        return self.data[first : int(self.stops[row])]


def read_shard_samples(
    path: Path,
    context: ReadContext,
    *,
    surprise_share: float | None = None,
    with_targets: bool = False,
    ends: EndReader | None = None,
) -> ShardSamples:
    """Read and replay a whole shard; raise `UserError` with its name if any game is broken.

    Args:
        path: The shard.
        context: Game and encoding.
        surprise_share: For weights by surprise; None gives all positions the same.
        with_targets: Whether to hold the targets dense, for means over duplicates.
        ends: For nets that learn how games end.
    """
    records = read_shard(path)
    samples: list[bytes] = []
    weights: list[NDArray[np.float64]] = []
    final: list[_End] = []
    positions = 0
    for number, record in enumerate(records, 1):
        if record.result is None:
            continue
        game = RecordGame(f"{path} game {number}", "shard", record, context)
        positions += game.num_positions
        drawn = np.ones(game.num_positions)
        if surprise_share is not None and record.search is not None:
            weighted = _surprise_rows(record, game.plies, surprise_share)
            plies = np.flatnonzero(weighted > 0).astype(np.int32)
            game, drawn = replace(game, chosen_plies=plies), weighted[plies]
        try:
            samples += game.samples(np.arange(game.num_positions, dtype=np.int32))
            if ends is not None:
                final.append(_End(ends.read(record), ends.signs(record, game.plies)))
        except UserError as error:
            raise UserError(f"{path}: game {number}: {error}") from None
        weights.append(drawn)
    return ShardSamples(
        path=path,
        data=b"".join(samples),
        stops=np.cumsum([len(sample) for sample in samples], dtype=np.int64),
        weights=np.concatenate([np.empty(0), *weights]),
        num_positions=positions,
        num_games=len(records),
        num_unfinished=sum(record.result is None for record in records),
        targets=dense_targets(samples, context.game, context.encoding) if with_targets else None,
        games=None if ends is None else _game_ends(final, ends.width),
    )


class _End(NamedTuple):
    columns: NDArray[np.float32] | None
    signs: NDArray[np.float32]


def _game_ends(final: list[_End], width: int) -> GameEnds:
    columns = np.zeros((len(final), width), np.float32)
    for number, end in enumerate(final):
        if end.columns is not None:
            columns[number] = end.columns
    rows = [np.full(len(end.signs), number, np.int32) for number, end in enumerate(final)]
    return GameEnds(
        columns=columns,
        known=np.array([end.columns is not None for end in final], np.float32),
        games=np.concatenate([np.empty(0, np.int32), *rows]),
        signs=np.concatenate([np.empty(0, np.float32), *(end.signs for end in final)]),
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
