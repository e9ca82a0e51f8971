"""Keeps finished games on disk: in a journal at once, in a shard when there are enough of them."""

from pathlib import Path

from zerogames.data.packed_games import PackedGames
from zerogames.data.shard import SUFFIX, write_packed_shard
from zerogames.runs.game_files import JOURNAL_SUFFIX
from zerogames.runs.journal import Journal
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.game_chunk import GameChunk


class GameStore:
    """The files of a session. A game counts once it is on disk, not before.

    If writing fails, what was not written stays in memory and the next call tries again.
    """

    def __init__(self, folder: Path, prefix: str, *, positions: int) -> None:
        """Write nothing yet.

        Args:
            folder: Folder of the shards.
            prefix: First part of the files' names; no other session has it.
            positions: Positions of a shard.
        """
        self.counts = Counts()
        """What is on disk."""
        self.shards: list[Path] = []
        self._folder = folder
        self._prefix = prefix
        self._positions = positions
        self._new: list[GameChunk] = []
        """Not on disk."""
        self._in_journal: list[PackedGames] = []
        self._journal: Journal | None = None
        self._may_have_shard = False
        """Whether writing the shard failed, perhaps after it had its name: then games in a journal
        of that name would not be read."""

    is_full = False
    """Whoever puts games here syncs them."""

    def put(self, chunk: GameChunk) -> None:
        """Take games; `sync` or `flush` writes them."""
        self._new.append(chunk)

    def sync(self) -> None:
        """Return when all games are on disk."""
        if not self._new:
            return
        enough = sum(part.positions for part in self._parts) >= self._positions
        if enough or self._may_have_shard:
            self.flush()
            return
        if self._journal is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._journal = Journal(self._shard.with_suffix(JOURNAL_SUFFIX))
        self._journal.append([chunk.games.data for chunk in self._new])
        self._in_journal = self._parts
        self._count_new()

    def flush(self) -> None:
        """Make a shard of all games that are in none."""
        parts = self._parts
        if not parts:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        self._may_have_shard = True
        write_packed_shard(self._shard, parts)
        self._may_have_shard = False
        self.shards.append(self._shard)
        self._in_journal = []
        self._count_new()
        if self._journal is not None:
            journal, self._journal = self._journal, None
            journal.remove()

    @property
    def _shard(self) -> Path:
        return self._folder / f"{self._prefix}-{len(self.shards):06d}{SUFFIX}"

    @property
    def _parts(self) -> list[PackedGames]:
        return self._in_journal + [chunk.games for chunk in self._new]

    def _count_new(self) -> None:
        for chunk in self._new:
            self.counts.add(chunk.counts)
        self._new = []
