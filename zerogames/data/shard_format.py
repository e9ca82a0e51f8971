"""Shards as a source of samples."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, ReadContext
from zerogames.data.record_game import RecordGame
from zerogames.data.shard import MAX_BYTES, SUFFIX, read_shard

_MAGIC = b"PAR1"


class ShardFormat:
    """Our own Parquet files of game records; every game has them."""

    name = "shards"
    suffixes = (SUFFIX,)

    def matches(self, file: DataFile, head: bytes) -> bool:
        """Recognise Parquet's first bytes."""
        return head.startswith(_MAGIC)

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """A shard is one block."""
        yield Block(file.name, lambda: file.read(MAX_BYTES))

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """All games of a shard."""
        path = Path(block.name)
        if path.is_file():
            records = read_shard(path)
        else:  # inside an archive
            with tempfile.NamedTemporaryFile(suffix=SUFFIX) as copy:
                copy.write(block.load())
                copy.flush()
                records = read_shard(Path(copy.name))
        for number, record in enumerate(records, block.first_game + 1):
            yield RecordGame(f"{block.name} game {number}", "shard", record, context)
