"""Finished games packed once: for the journal, for the way to another process, for a shard.

Whoever holds them can write a shard without looking at any game.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from zerogames.data.checksum import Checksum
from zerogames.data.record import GameRecord
from zerogames.data.record_table import SCHEMA, checksum, to_batch, to_records
from zerogames.errors import UserError


@dataclass(frozen=True, kw_only=True)
class PackedGames:
    """Some games, at least one."""

    data: bytes
    """One record batch in Arrow's IPC format, without its schema."""
    checksum: Checksum
    """Of the records, as a shard has it."""
    games: int
    positions: int


def pack_games(records: Sequence[GameRecord]) -> PackedGames:
    """Pack at least one game."""
    return PackedGames(
        data=to_batch(records).serialize().to_pybytes(),
        checksum=checksum(records),
        games=len(records),
        positions=sum(len(record.actions) for record in records),
    )


def packed_batch(data: bytes) -> pa.RecordBatch:
    """The table in `PackedGames.data`, without a copy; raise `UserError` if it is none."""
    try:
        batch = pa.ipc.read_record_batch(pa.py_buffer(data), SCHEMA)
        batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"no packed games ({str(error).partition(chr(10))[0]})") from None
    return batch


def unpack_games(data: bytes) -> list[GameRecord]:
    """The games in `PackedGames.data`; raise `UserError` if anything in it is damaged."""
    try:
        return list(to_records(packed_batch(data)))
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise UserError(str(error)) from None
