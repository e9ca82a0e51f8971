"""Some finished games on their way to disk, and what they add to the counts."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from zerogames.data import GameRecord
from zerogames.data.packed_games import PackedGames, pack_games
from zerogames_selfplay.players.counts import Counts


@dataclass(frozen=True, kw_only=True)
class GameChunk:
    """At least one game."""

    games: PackedGames
    counts: Counts
    crc: int
    """CRC-32 of `games.data`."""

    @classmethod
    def of(cls, records: Sequence[GameRecord]) -> Self:
        """Pack some games and count them."""
        counts = Counts()
        counts.add_games(records)
        games = pack_games(records)
        return cls(games=games, counts=counts, crc=zlib.crc32(games.data))

    @property
    def is_whole(self) -> bool:
        """Whether it is as it was made; no game is looked at."""
        return zlib.crc32(self.games.data) == self.crc


class GameSink(Protocol):
    """Takes the finished games of a worker: a `GameStore` here, or an `Outbox` to the owner."""

    @property
    def counts(self) -> Counts:
        """The games that are on disk, as far as this process is to count them."""

    @property
    def is_full(self) -> bool:
        """Whether it should be given no more games now."""

    def put(self, chunk: GameChunk) -> None:
        """Take games."""

    def sync(self) -> None:
        """Return when all games are on disk, or on their way."""

    def flush(self) -> None:
        """Make a shard of all games that are in none."""
