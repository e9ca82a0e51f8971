"""Counting finished games: single games, and pairs with the same opening and colours swapped."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Self


class Distribution(ABC):
    """Counts of independent scores: what every two-player statistic needs."""

    values: ClassVar[tuple[float, ...]]
    """Scores in [0, 1], ascending and evenly spaced."""
    games_per_trial: ClassVar[int]
    """Games behind one count."""

    @property
    @abstractmethod
    def counts(self) -> tuple[float, ...]:
        """How often each score of `values` occurred."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(operator.add, vars(self).values(), vars(other).values()))

    def __sub__(self, other: Self) -> Self:
        return type(self)(*map(operator.sub, vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class Wdl(Distribution):
    """Games won, drawn and lost by the player they are told of."""

    wins: float = 0
    draws: float = 0
    losses: float = 0
    values = (0.0, 0.5, 1.0)
    games_per_trial = 1

    @property
    def games(self) -> float:
        """All of them."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """A draw is half a point."""
        return self.wins + self.draws / 2

    @property
    def score(self) -> float:
        """Points per game; one half when there was none."""
        return self.points / self.games if self.games else 0.5

    @property
    def counts(self) -> tuple[float, ...]:
        """Losses, draws, wins."""
        return self.losses, self.draws, self.wins

    @property
    def swapped(self) -> "Wdl":
        """The other player's view."""
        return Wdl(self.losses, self.draws, self.wins)

    def __str__(self) -> str:
        return f"{self.wins:g}-{self.draws:g}-{self.losses:g}"


@dataclass(frozen=True)
class Pentanomial(Distribution):
    """Pairs of games by what one player made of both; the order within a pair does not matter."""

    ll: float = 0
    ld: float = 0
    wl: float = 0
    dd: float = 0
    wd: float = 0
    ww: float = 0
    values = (0.0, 0.25, 0.5, 0.75, 1.0)
    games_per_trial = 2

    @property
    def pairs(self) -> float:
        """All of them."""
        return self.ll + self.ld + self.wl + self.dd + self.wd + self.ww

    @property
    def wdl(self) -> Wdl:
        """The results of the games one by one."""
        return Wdl(
            2 * self.ww + self.wd + self.wl,
            2 * self.dd + self.ld + self.wd,
            2 * self.ll + self.ld + self.wl,
        )

    @property
    def counts(self) -> tuple[float, ...]:
        """Number of pairs with 0, 1, 2, 3 and 4 half points."""
        return self.ll, self.ld, self.wl + self.dd, self.wd, self.ww

    @property
    def swapped(self) -> "Pentanomial":
        """The other player's view."""
        return Pentanomial(self.ww, self.wd, self.wl, self.dd, self.ld, self.ll)


@dataclass(frozen=True)
class Outcome:
    """One finished game."""

    first: str
    """Who moved first (White in chess, Black in Go)."""
    second: str
    result: float
    """First player's view: +1 won, 0 drawn, -1 lost."""
    pair: int | str | None = None
    """Equal for the two games of a pair; None for a game that belongs to none."""


@dataclass(frozen=True)
class Tally:
    """All games between two players, seen by the one named first."""

    a: str
    b: str
    wdl: Wdl = field(default_factory=Wdl)
    """Every game."""
    pairs: Pentanomial = field(default_factory=Pentanomial)
    """Results of complete pairs."""

    @property
    def single(self) -> Wdl:
        """Games outside complete pairs."""
        return self.wdl - self.pairs.wdl

    @property
    def is_paired(self) -> bool:
        """Whether at least half of the games are in complete pairs, so that pairs may speak."""
        return self.pairs.pairs > 0 and 2 * self.pairs.wdl.games >= self.wdl.games

    @property
    def distribution(self) -> Distribution:
        """Pairs where games were paired (their interval is tighter), else games."""
        return self.pairs if self.is_paired else self.wdl

    @property
    def swapped(self) -> "Tally":
        """The other player's view."""
        return Tally(self.b, self.a, self.wdl.swapped, self.pairs.swapped)


def player_names(tallies: Iterable[Tally]) -> tuple[str, ...]:
    """The names of all players, in the order in which they first occur."""
    return tuple(dict.fromkeys(name for one in tallies for name in (one.a, one.b)))


def tally(outcomes: Iterable[Outcome]) -> list[Tally]:
    """Count games by pairing, in the order in which the pairings first occurred.

    A pairing is seen by the player who moved first in its first game.
    """
    wdl: dict[tuple[str, str], Wdl] = {}
    pairs: dict[tuple[str, str], Pentanomial] = {}
    open_pairs: dict[tuple[str, str, int | str], float] = {}
    for outcome in outcomes:
        key, points = (outcome.first, outcome.second), (outcome.result + 1) / 2
        if key[::-1] in wdl:
            key, points = key[::-1], 1 - points
        wdl[key] = wdl.get(key, Wdl()) + Wdl(points == 1, points == 0.5, points == 0)
        if outcome.pair is None:
            continue
        pair_key = (*key, outcome.pair)
        earlier = open_pairs.pop(pair_key, None)
        if earlier is None:
            open_pairs[pair_key] = points
        else:
            pairs[key] = pairs.get(key, Pentanomial()) + pair_of(earlier, points)
    return [Tally(a, b, wdl[a, b], pairs.get((a, b), Pentanomial())) for a, b in wdl]


def pair_of(first: float, second: float) -> Pentanomial:
    """The pair of two games with these points (0, 0.5, 1) of one player."""
    names = {0.0: "ll", 0.5: "ld", 1.0: "wl", 1.5: "wd", 2.0: "ww"}
    name = "dd" if first == second == 0.5 else names[first + second]
    return Pentanomial(**{name: 1})
