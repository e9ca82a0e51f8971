"""Figures of a data set: what is in it, how long games are, who wins, what is broken."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from zerogames.data.sources import Source

MAX_KEYS = 50_000_000
"""Games whose duplicates are counted, eight bytes each and some more."""


@dataclass(kw_only=True)
class Census:
    """Counts over all games that could be read."""

    games: int = 0
    positions: int = 0
    duplicates: int = 0
    """Games with the same contents as an earlier one."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Games by format and version."""
    results: Counter[str] = field(default_factory=Counter)
    """First player's view: `win`, `draw`, `loss`, `unknown`."""
    lengths: Counter[int] = field(default_factory=Counter)
    """Games by number of positions."""

    def length_at(self, share: float) -> int:
        """The length that this share of games does not exceed."""
        seen = 0
        for length in sorted(self.lengths):
            seen += self.lengths[length]
            if seen >= share * self.games:
                return length
        return 0

    def as_json(self, source: Source) -> dict[str, object]:
        """The census as plain values, for other programs."""
        return {
            "files": len(source.paths),
            "games": self.games,
            "positions": self.positions,
            "duplicates": self.duplicates,
            "kinds": dict(self.kinds),
            "results": dict(self.results),
            "length": {
                name: self.length_at(share)
                for name, share in (("shortest", 0.0), ("median", 0.5), ("longest", 1.0))
            },
            "problems": source.problems.count,
            "ignored": source.ignored.total(),
        }


def result_name(result: float | None) -> str:
    """A word for a result in the first player's view."""
    if result is None:
        return "unknown"
    return "draw" if result == 0 else "win" if result > 0 else "loss"


def count_games(source: Source, advance: Callable[[int], None] | None = None) -> Census:
    """Read everything once; `advance` is called with the number of games so far."""
    census = Census()
    seen = set[int]()
    for game in source.games():
        census.games += 1
        census.positions += game.num_positions
        census.kinds[game.kind] += 1
        census.results[result_name(game.result)] += 1
        census.lengths[game.num_positions] += 1
        key = int(np.uint64(game.key))
        if key in seen:
            census.duplicates += 1
        elif len(seen) < MAX_KEYS:
            seen.add(key)
        if advance is not None:
            advance(census.games)
    return census
