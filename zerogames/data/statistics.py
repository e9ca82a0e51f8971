"""Numbers about a set of game records."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from zerogames.data.record import SEARCH_KINDS, GameRecord


@dataclass(kw_only=True)
class RecordStatistics:
    """Sums over games; add records one by one."""

    games: int = 0
    positions: int = 0
    shortest: int = 0
    longest: int = 0
    results: Counter[float | None] = field(default_factory=Counter)
    """First player's view."""
    reasons: Counter[str] = field(default_factory=Counter)
    nets: Counter[str] = field(default_factory=Counter)
    identities: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """Moves by how they were chosen."""
    duplicates: int = 0
    """Games with the same start and moves as an earlier one."""
    searched: int = 0
    """Moves with visits."""
    visits: int = 0
    surprise: float = 0.0
    """Sum over searched moves."""
    _seen: set[bytes] = field(default_factory=set, repr=False)

    def add(self, records: Iterable[GameRecord]) -> None:
        """Count more games."""
        for record in records:
            plies = len(record.actions)
            self.shortest = plies if self.games == 0 else min(self.shortest, plies)
            self.longest = max(self.longest, plies)
            self.games += 1
            self.positions += plies
            self.results[record.result] += 1
            self.reasons[record.reason or "unknown"] += 1
            self.nets[record.net or "unknown"] += 1
            self.identities[record.game] += 1
            key = record.start.encode() + b"\0" + record.actions.tobytes()
            self.duplicates += key in self._seen
            self._seen.add(key)
            search = record.search
            if search is None:
                self.kinds["none"] += plies
                continue
            for kind, number in zip(*np.unique(search.kinds, return_counts=True), strict=True):
                self.kinds[SEARCH_KINDS[int(kind)]] += int(number)
            self.visits += int(search.policy_visits.sum())
            known = search.surprise[np.isfinite(search.surprise)]
            self.surprise += float(known.sum())
            self.searched += int((np.diff(search.policy_offsets) > 0).sum())

    def rows(self) -> Mapping[str, str]:
        """Names and values for people."""
        games, searched = max(1, self.games), max(1, self.searched)
        results = {1.0: "first player", 0.0: "draw", -1.0: "second player", None: "unknown"}
        return {
            "game": _shares(self.identities),
            "games": f"{self.games:,}, {self.duplicates:,} of them repeated",
            "positions": f"{self.positions:,}",
            "length": f"{self.positions / games:.1f} plies, {self.shortest} to {self.longest}",
            "won by": _shares(
                Counter({results.get(key, str(key)): n for key, n in self.results.items()})
            ),
            "ended by": _shares(self.reasons),
            "moves chosen by": _shares(self.kinds),
            "visits": f"{self.visits / searched:.1f} a searched move",
            "surprise": f"{self.surprise / searched:.3f} nats a searched move",
            "nets": _shares(self.nets),
        }


def _shares(counter: Counter[str], *, most: int = 6) -> str:
    total = max(1, sum(counter.values()))
    parts = [f"{name} {100 * n / total:.0f}%" for name, n in counter.most_common(most)]
    rest = len(counter) - most
    return ", ".join(parts) + (f", {rest} more" if rest > 0 else "")
