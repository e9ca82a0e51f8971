"""Game records as tables of Arrow, one row a game: what shards, journals and the network hold."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zerogames.data.checksum import Checksum
from zerogames.data.record import VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.errors import UserError

SCHEMA_VERSION = 1

_T = TypeVar("_T", bound=np.generic)
_FLOATS = pa.list_(pa.float32())
_PLAIN = ("game", "start", "seed", "net", "result", "reason")
SCHEMA = pa.schema(
    [
        pa.field("game", pa.string(), nullable=False),
        pa.field("start", pa.string(), nullable=False),
        pa.field("seed", pa.uint64(), nullable=False),
        pa.field("net", pa.string(), nullable=False),
        pa.field("result", pa.float32()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("actions", pa.list_(pa.int32()), nullable=False),
        pa.field("kinds", pa.list_(pa.uint8())),
        pa.field("policy_actions", pa.list_(pa.list_(pa.int32()))),
        pa.field("policy_visits", pa.list_(pa.list_(pa.int32()))),
        pa.field("policy_targets", pa.list_(pa.list_(pa.float32()))),
        *(pa.field(name, _FLOATS) for name in VALUE_COLUMNS),
        pa.field("surprise", _FLOATS),
    ],
    metadata={"zerogames.schema_version": str(SCHEMA_VERSION)},
)


def to_batch(records: Sequence[GameRecord]) -> pa.RecordBatch:
    """The table of some records, at least one."""
    for record in records:
        if record.search is not None:
            record.search.check(len(record.actions))
    return pa.RecordBatch.from_arrays([_column(field, records) for field in SCHEMA], schema=SCHEMA)


def checksum(records: Sequence[GameRecord]) -> Checksum:
    """CRC-32 of everything in the records: Parquet alone lets some flipped bits pass unseen."""
    total = Checksum()
    for record in records:
        texts = (record.game, record.start, record.net, record.reason)
        header = repr((texts, record.seed, record.result, len(record.actions)))
        parts = [header.encode(), record.actions.astype("<i4").tobytes()]
        if record.search is not None:
            parts += [column.tobytes() for column in _arrays(record.search)]
        total = total.followed_by(b"".join(parts))
    return total


def _arrays(search: SearchColumns) -> Iterator[NDArray[np.generic]]:
    yield search.policy_offsets.astype("<i8")
    yield search.policy_actions.astype("<i4")
    yield search.policy_visits.astype("<i4")
    yield search.policy_targets.astype("<f4")
    for name in VALUE_COLUMNS:
        yield search.values[name].astype("<f4")
    yield search.surprise.astype("<f4")
    yield search.kinds.astype("u1")


def _column(field: pa.Field, records: Sequence[GameRecord]) -> pa.Array:
    """A column with an entry for each game; empty for what a search says if there was none."""
    name = field.name
    if hasattr(records[0], name):
        return pa.array([getattr(record, name) for record in records], field.type)
    searches = [record.search for record in records]
    if name.startswith("policy_"):
        return _policies(name, searches, field.type)
    columns = (
        one and (one.values[name] if name in one.values else getattr(one, name)) for one in searches
    )
    return pa.array(list(columns), field.type)


def _policies(name: str, columns: Sequence[SearchColumns | None], kind: pa.ListType) -> pa.Array:
    """A list of sparse policies per game."""
    present = [search for search in columns if search is not None]
    sizes = [np.diff(search.policy_offsets) for search in present]
    entries = [getattr(search, name) for search in present]
    inner = pa.ListArray.from_arrays(
        np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, int), *sizes]))]).astype(
            np.int32
        ),
        pa.array(np.concatenate(entries) if entries else np.empty(0), kind.value_type.value_type),
    )
    plies = [0 if search is None else search.plies for search in columns]
    return pa.ListArray.from_arrays(
        np.concatenate([[0], np.cumsum(plies)]).astype(np.int32),
        inner,
        type=kind,
        mask=pa.array([search is None for search in columns]),
    )


def to_records(batch: pa.RecordBatch) -> Iterator[GameRecord]:
    """The records of a table; raise `UserError` for columns that do not fit together."""
    for row in range(batch.num_rows):
        kinds = batch["kinds"][row].values
        actions = _numpy(batch["actions"][row].values, np.int32)
        search = None if kinds is None else _search(batch, row)
        if search is not None:
            search.check(len(actions))
        plain = {name: batch[name][row].as_py() for name in _PLAIN}
        result = plain["result"]
        if result is not None and not -1 <= result <= 1:
            raise UserError(f"result {result} is not between -1 and 1")
        yield GameRecord(actions=actions, search=search, **plain)


def _search(batch: pa.RecordBatch, row: int) -> SearchColumns:
    policies = {
        name: batch[name][row].values
        for name in ("policy_actions", "policy_visits", "policy_targets")
    }
    offsets = policies["policy_actions"].offsets.to_numpy().astype(np.int64)
    for other in policies.values():
        if not np.array_equal(np.diff(other.offsets.to_numpy()), np.diff(offsets)):
            raise UserError("the policy columns have different lengths")
    return SearchColumns(
        policy_offsets=offsets - offsets[0],
        policy_actions=_numpy(policies["policy_actions"].flatten(), np.int32),
        policy_visits=_numpy(policies["policy_visits"].flatten(), np.int32),
        policy_targets=_numpy(policies["policy_targets"].flatten(), np.float32),
        values={name: _numpy(batch[name][row].values, np.float32) for name in VALUE_COLUMNS},
        surprise=_numpy(batch["surprise"][row].values, np.float32),
        kinds=_numpy(batch["kinds"][row].values, np.uint8),
    )


def _numpy(array: pa.Array, kind: type[_T]) -> NDArray[_T]:
    if array.null_count:
        raise UserError("a column has holes")
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), kind)
