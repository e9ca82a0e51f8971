"""What was played, summed over lanes and workers."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from zerogames.data import GameRecord
from zerogames.data.record import SEARCH_KINDS

LEARNABLE = (SEARCH_KINDS.index("full"), SEARCH_KINDS.index("proved"))


@dataclass(kw_only=True)
class Counts:
    """Sums only, so that parts can be added."""

    games: int = 0
    positions: int = 0
    """Plies of finished games."""
    learnable: int = 0
    """Positions among them with a policy target: full searches and proofs."""
    evaluations: int = 0
    """Positions that the net evaluated; cache hits do not count."""
    cache_hits: int = 0
    simulations: int = 0
    first_wins: int = 0
    draws: int = 0
    second_wins: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    never_resign: int = 0
    """Finished games in which resignation was switched off at random."""
    would_resign: int = 0
    """Games among them in which a player would have resigned."""
    wrong_resigns: int = 0
    """Games among these that this player did not lose."""
    dropped: int = 0
    """Unfinished games at the end of the run or in a worker that died."""

    def add_games(self, records: Iterable[GameRecord]) -> None:
        """Count finished games."""
        for record in records:
            self.games += 1
            self.positions += len(record.actions)
            if record.search is not None:
                self.learnable += int(np.isin(record.search.kinds, LEARNABLE).sum())
            self.reasons[record.reason] += 1
            result = record.result or 0.0
            self.first_wins += result > 0
            self.draws += result == 0
            self.second_wins += result < 0

    def add(self, other: Self) -> None:
        """Add the sums of another part."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def since(self, earlier: Self) -> Self:
        """The difference to `earlier` counts of the same players."""
        # Counters subtract too.
        return type(self)(
            **{
                name: getattr(self, name) - getattr(earlier, name)
                for name in self.__dataclass_fields__
            }
        )

    @property
    def mean_length(self) -> float:
        """Plies per game."""
        return self.positions / self.games if self.games else 0.0

    @property
    def false_resign_share(self) -> float | None:
        """Share of false resignations among those that were checked; None without any."""
        return self.wrong_resigns / self.would_resign if self.would_resign else None

    def table(self) -> dict[str, Any]:
        """Plain values for JSON."""
        # dataclasses.asdict takes a Counter apart.
        return {**self.__dict__, "reasons": dict(self.reasons)}
