"""Some finished games on their way to disk, and what they add to the counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from zerogames.data import GameRecord
from zerogames.data.packed_games import PackedGames, pack_games
from zerogames_selfplay.players.counts import Counts


@dataclass(frozen=True, kw_only=True)
class GameChunk:
    """At least one game."""

    games: PackedGames
    counts: Counts

    @classmethod
    def of(cls, records: Sequence[GameRecord]) -> Self:
        """Pack some games and count them."""
        counts = Counts()
        counts.add_games(records)
        return cls(games=pack_games(records), counts=counts)
