"""The games of an event: the pairs of players, their order and their openings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

Format = Literal["round-robin", "gauntlet"]
"""Everyone against everyone, or the first player against all others."""


@dataclass(frozen=True, kw_only=True)
class Appointment:
    """One game to be played."""

    first: str
    """Name of the player who moves first."""
    second: str
    pairing: tuple[str, str]
    round: int
    """Number of the pair of games; also of its opening."""
    swapped: bool
    """The second game of the pair."""

    @property
    def key(self) -> str:
        """A key that is equal in every run of the event, to know finished games again."""
        a, b = self.pairing
        return f"{a} | {b} | {self.round} | {int(self.swapped)}"

    @property
    def pair(self) -> str:
        """Names the pair of games."""
        return self.key.rpartition(" | ")[0]


def schedule(players: Sequence[str], games: int, format: Format) -> Iterator[Appointment]:
    """All games, `games` for each pairing; every pairing has played its pair before a new round."""
    pairings = list(combinations(players, 2))
    if format == "gauntlet":
        pairings = [(players[0], other) for other in players[1:]]
    for round in range((games + 1) // 2):
        for a, b in pairings:
            yield Appointment(first=a, second=b, pairing=(a, b), round=round, swapped=False)
            if 2 * round + 1 < games:
                yield Appointment(first=b, second=a, pairing=(a, b), round=round, swapped=True)
