"""Lc0's training data, versions 3 to 7, input format 1.

A file is one gzip stream of fixed-size records, usually of one game; a tar holds many. Merged files
are cut where a record does not follow the one before it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from zerogames.data.chunk_game import ChunkGame
from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, ReadContext
from zerogames.data.record import SEARCH_KINDS, VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.errors import UserError
from zerogames.registry import get_game
from zerogames_chess import _data

ENCODING = "lc0-classic"
VERSIONS = range(3, 8)
LEAST_RECOVERABLE = 6
"""The first version whose records name the move played."""
_FULL, _PROVED = SEARCH_KINDS.index("full"), SEARCH_KINDS.index("proved")


class ChunkFormat:
    """Training records of Lc0."""

    name = "Lc0 chunks"
    suffixes = (".gz", ".chunk")

    def matches(self, file: DataFile, head: bytes) -> bool:
        """Recognise the version number; text formats are excluded."""
        return len(head) >= 4 and int.from_bytes(head[:4], "little") in VERSIONS

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """A file is one block."""
        yield Block(file.name, file.read)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """The games of a file; one wrong record makes all of it wrong."""
        if context.encoding.partition(":")[0] != ENCODING:
            raise UserError(f"chunks hold the encoding {ENCODING}, not {context.encoding}")
        chunk = _data.Chunk(block.load())
        for number in range(chunk.num_games):
            name = f"{block.name} game {number + 1}" if chunk.num_games > 1 else block.name
            yield Lc0Game(name, f"Lc0 V{chunk.version}", chunk, number)


class Lc0Game(ChunkGame[_data.Chunk]):
    """A game of Lc0's records."""

    def samples(self, chosen: NDArray[np.int32]) -> list[bytes]:
        """Records as packed samples."""
        return self.chunk.samples(self.number, chosen)

    def record(self) -> GameRecord:
        """The game with all its search found; every position is compared with its record."""
        if self.chunk.version < LEAST_RECOVERABLE:
            raise UserError(
                f"version {self.chunk.version} records do not name the moves played; "
                "training reads them as they are"
            )
        start = self.chunk.start(self.number)
        columns = self.chunk.columns(self.number)
        offsets, actions, shares = self.chunk.policies(self.number)
        visits = cast(NDArray[np.int32], columns["visits"])
        per_entry = np.repeat(visits, np.diff(offsets))
        kld = cast(NDArray[np.float32], columns["policy_kld"])
        # A share is the child's visits by those of all children: one less than the root's.
        return GameRecord(
            game="chess",
            start=start,
            actions=cast(NDArray[np.int32], columns["played"]),
            result=self.result,
            search=SearchColumns(
                policy_offsets=offsets,
                policy_actions=actions,
                policy_visits=np.rint(shares * np.maximum(per_entry - 1, 1)).astype(np.int32),
                policy_targets=shares,
                values={name: cast(NDArray[np.float32], columns[name]) for name in VALUE_COLUMNS},
                surprise=np.where(kld == 0, np.float32(np.nan), kld).astype(np.float32),
                kinds=np.where(columns["proved"], _PROVED, _FULL).astype(np.uint8),
            ),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ChunkColumns:
    """The columns of a chunk, one number per move; empty columns are unknown."""

    actions: NDArray[np.int32]
    result: float
    """First player's view."""
    policy_offsets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    policy_actions: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    policy_targets: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    values: Sequence[NDArray[np.float32]] = ()
    """The values in the order of `VALUE_COLUMNS`."""
    surprise: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    visits: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """The visits of the root."""
    proved: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    """Whether the best child's value is a proof."""


def write_chunk(record: GameRecord) -> bytes:
    """A game as version 6 records, not yet packed by gzip; raise `UserError` if it has no result.

    Without a search the policy is the move played, q and d are the result's, and what a raw net
    would say is left unknown.
    """
    if record.result is None:
        raise UserError("the game has no result")
    columns = ChunkColumns(actions=record.actions, result=record.result)
    search = record.search
    if search is not None:
        sums = np.add.reduceat(
            np.append(search.policy_visits, 0), search.policy_offsets[:-1], dtype=np.int32
        )
        columns = dataclasses.replace(
            columns,
            policy_offsets=search.policy_offsets,
            policy_actions=search.policy_actions,
            policy_targets=search.policy_targets,
            values=[search.values[name] for name in VALUE_COLUMNS],
            surprise=search.surprise,
            visits=np.where(np.diff(search.policy_offsets) > 0, sums + 1, 0).astype(np.int32),
            proved=(search.kinds == _PROVED).astype(np.uint8),
        )
    return _data.write_chunk(record.start_state(get_game(record.game)), columns)
