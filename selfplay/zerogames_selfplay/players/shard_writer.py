"""Writes finished games as shards."""

from pathlib import Path

from zerogames.data import GameRecord
from zerogames.data.shard import SUFFIX, write_shard


class ShardWriter:
    """Writes a shard as soon as there are enough positions; `flush` writes the rest.

    If writing fails, the games stay in memory and the next call tries again.
    """

    def __init__(self, folder: Path, prefix: str, *, positions: int) -> None:
        self.paths: list[Path] = []
        self.pending: list[GameRecord] = []
        self._folder = folder
        self._prefix = prefix
        self._positions = positions
        self._pending_positions = 0

    def add(self, record: GameRecord) -> None:
        """Take a finished game."""
        self.pending.append(record)
        self._pending_positions += len(record.actions)
        if self._pending_positions >= self._positions:
            self.flush()

    def flush(self) -> None:
        """Write the games that are pending as one shard."""
        if not self.pending:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{self._prefix}-{len(self.paths):06d}{SUFFIX}"
        write_shard(path, self.pending)
        self.paths.append(path)
        self.pending = []
        self._pending_positions = 0
