"""Shards: Parquet files of game records, one row a game, readable by any data tool."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from zerogames.atomic import write_atomically
from zerogames.data.checksum import Checksum
from zerogames.data.packed_games import PackedGames, packed_batch
from zerogames.data.record import GameRecord
from zerogames.data.record_table import SCHEMA, SCHEMA_VERSION, checksum, to_batch, to_records
from zerogames.errors import UserError

SUFFIX = ".parquet"

MAX_BYTES = 1 << 31
"""A shard that claims to unpack to more is refused before anything is unpacked."""
_CHECKSUM = b"zerogames.checksum"


def write_shard(path: Path, records: Sequence[GameRecord]) -> None:
    """Write `records` as one Parquet file with zstd, atomically."""
    if not records:
        raise ValueError("a shard holds at least one game")
    _write(path, [to_batch(records)], checksum(records))


def write_packed_shard(path: Path, parts: Sequence[PackedGames]) -> None:
    """Write packed games, at least one, as `write_shard` does."""
    total = parts[0].checksum
    for part in parts[1:]:
        total = total.joined(part.checksum)
    _write(path, [packed_batch(part.data) for part in parts], total)


def _write(path: Path, batches: Sequence[pa.RecordBatch], total: Checksum) -> None:
    schema = SCHEMA.with_metadata({**(SCHEMA.metadata or {}), _CHECKSUM: _digits(total)})
    # One chunk a column: otherwise each batch would become pages of its own.
    table = pa.Table.from_batches(batches).combine_chunks().replace_schema_metadata(schema.metadata)
    write_atomically(path, lambda file: pq.write_table(table, file, compression="zstd"))


def read_shard(path: Path) -> list[GameRecord]:
    """Read all games of one shard; raise `UserError` with its name if anything in it is damaged."""
    records: list[GameRecord] = []
    try:
        with pq.ParquetFile(path) as file:
            expected = _check_header(file)
            unpacked = 0
            for batch in file.iter_batches(batch_size=256):
                unpacked += batch.nbytes
                if unpacked > MAX_BYTES:
                    raise UserError(f"it unpacks to more than {MAX_BYTES} bytes")
                records += to_records(batch)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"{path}: not a whole shard ({reason})") from None
    if _digits(checksum(records)) != expected:
        raise UserError(f"{path}: damaged: its checksum is not that of its games")
    return records


def shard_paths(folder: Path) -> list[Path]:
    """All finished shards below `folder`, oldest name first."""
    return sorted(path for path in folder.rglob(f"*{SUFFIX}") if not path.name.startswith("."))


def _check_header(file: pq.ParquetFile) -> bytes:
    """Refuse what is not ours before anything is unpacked; return the checksum."""
    metadata = file.schema_arrow.metadata or {}
    version = metadata.get(b"zerogames.schema_version", b"").decode(errors="replace")
    if version != str(SCHEMA_VERSION):
        found = f"schema version {version}" if version else "no game records"
        raise UserError(f"{found}; this program reads version {SCHEMA_VERSION}")
    if not file.schema_arrow.equals(SCHEMA):
        raise UserError(f"its columns are not those of version {SCHEMA_VERSION}")
    groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
    if sum(group.total_byte_size for group in groups) > MAX_BYTES:
        raise UserError(f"it claims to unpack to more than {MAX_BYTES} bytes")
    return bytes(metadata.get(_CHECKSUM, b""))


def _digits(total: Checksum) -> bytes:
    return f"{total.crc:08x}".encode()
