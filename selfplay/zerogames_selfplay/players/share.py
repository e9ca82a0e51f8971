"""Which games of a run a worker or a lane plays."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Share:
    """The games `first`, `first + step`, ... of a seed."""

    first: int = 0
    step: int = 1
    games: int | None
    """The number of games; None for games without end."""
    seed: int

    def part(self, index: int, parts: int) -> Self:
        """Every `parts`-th game of this share, from the game `index` on."""
        games = None if self.games is None else (self.games - index + parts - 1) // parts
        first = self.first + index * self.step
        return type(self)(first=first, step=self.step * parts, games=games, seed=self.seed)
