"""What a run has done so far, summed over lanes and workers."""

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
    """Those of them with a policy to learn from: full searches and proofs."""
    evaluations: int = 0
    """Positions the net judged; cache hits do not count."""
    cache_hits: int = 0
    simulations: int = 0
    first_wins: int = 0
    draws: int = 0
    second_wins: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    never_resign: int = 0
    """Finished games that were played to the end by lot."""
    would_resign: int = 0
    """Those of them in which a player wanted to resign."""
    wrong_resigns: int = 0
    """Those of these that the player did not lose."""
    dropped: int = 0
    """Games begun and given up: at the end of the run or with a worker that died."""

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
        """What came after `earlier`."""
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
        """How often resigning would have been wrong, if it can be told."""
        return self.wrong_resigns / self.would_resign if self.would_resign else None

    def table(self) -> dict[str, Any]:
        """Plain values for JSON."""
        # dataclasses.asdict takes a Counter apart.
        return {**self.__dict__, "reasons": dict(self.reasons)}
