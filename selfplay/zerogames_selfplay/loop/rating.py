"""How strong the nets of a run are: whom a net meets, and what the results mean.

All games of a run are rated together by maximum likelihood (Bradley-Terry, a draw being half a win
for each; 95 % intervals by the sandwich estimator over pairs, right also when draws are many). The
weakest anchor has 0 Elo.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zerogames.arena.bradley_terry import fit_bradley_terry
from zerogames.arena.elo import Z95
from zerogames.arena.players import PlayerSpec, parse_player
from zerogames.arena.results import Pentanomial, Tally, Wdl
from zerogames.game import Game
from zerogames_selfplay.loop.settings import RatingSettings

PERFECT = "perfect"
"""The kind of player that some games have: it never gives a half point away."""
_USEFUL_GAP = 500.0
"""Elo difference beyond which games are all won or all lost."""


def net_name(step: int) -> str:
    """A net in ratings."""
    return f"step-{step:08d}"


@dataclass(frozen=True, kw_only=True)
class Competitor:
    """A side of a rating match: a net of the run, or a player of the arena."""

    name: str
    net: Path | None = None
    player: PlayerSpec | None = None
    opening_plies: int = 0
    """The fewest random moves at the start of its games."""


@dataclass(frozen=True, kw_only=True)
class RatingJob:
    """A net to rate, and whom it meets."""

    step: int
    net: Path
    opponents: Sequence[Competitor]


@dataclass(frozen=True, kw_only=True)
class RatingResult:
    """The games of a rating job."""

    step: int
    tallies: Sequence[Tally]
    """One for each opponent, seen by the net."""
    seconds: float


@dataclass(kw_only=True)
class RatingBook:
    """All rating games of a run, and the ratings."""

    reference: str
    """The player that has 0 Elo."""
    tallies: list[Tally] = field(default_factory=list)
    elo: dict[str, float] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    """Half the width of the 95 % interval."""

    def add(self, tallies: Sequence[Tally]) -> None:
        """Add games and rate everybody again."""
        self.tallies += [one for one in tallies if one.wdl.games]
        if not self.tallies:
            return
        names = {name for one in self.tallies for name in (one.a, one.b)}
        anchors = {self.reference: 0.0} if self.reference in names else None
        fit = fit_bradley_terry(self.tallies, anchors=anchors)
        for index, name in enumerate(fit.names):
            self.elo[name] = float(fit.elo[index])
            self.error[name] = Z95 * float(max(0.0, fit.covariance[index, index])) ** 0.5

    def add_line(self, line: Mapping[str, Any]) -> None:
        """Add the games of a line of `ratings.jsonl`."""
        name = net_name(int(line["step"]))
        self.add([_read_result(name, result) for result in line["results"]])


def _read_result(name: str, result: Mapping[str, Any]) -> Tally:
    wdl = Wdl(result["wins"], result["draws"], result["losses"])
    counts = (wdl.wins, wdl.draws, wdl.losses, *result["pairs"])
    if not all(type(count) is int and 0 <= count < 1 << 40 for count in counts):
        raise ValueError("counts of games are whole numbers, 0 or more")
    return Tally(name, str(result["opponent"]), wdl, Pentanomial(*result["pairs"]))


def rating_line(book: RatingBook, result: RatingResult, *, time_s: float) -> dict[str, Any]:
    """The line of `ratings.jsonl` for a net that has just been rated."""
    name = net_name(result.step)
    elo, error = book.elo.get(name, 0.0), book.error.get(name, 0.0)
    results = []
    for one in result.tallies:
        pairs = one.pairs
        results.append(
            {
                "opponent": one.b,
                "wins": one.wdl.wins,
                "draws": one.wdl.draws,
                "losses": one.wdl.losses,
                "pairs": [pairs.ll, pairs.ld, pairs.wl, pairs.dd, pairs.wd, pairs.ww],
            }
        )
    players = {key: round(value, 1) for key, value in book.elo.items() if key[:5] != "step-"}
    return {
        "time_s": round(time_s, 1),
        "step": result.step,
        "elo": round(elo, 1),
        "low": round(elo - error, 1),
        "high": round(elo + error, 1),
        "results": results,
        "anchors": players,
        "seconds": round(result.seconds, 2),
    }


def rating_anchors(game: Game, settings: RatingSettings) -> list[Competitor]:
    """The players whose strength never changes, the weakest first."""
    anchors = [_anchor(game, text) for text in settings.anchors]
    solver = game.new_solver() if settings.perfect else None
    if solver is not None:
        # It is slow in open positions.
        anchors.append(replace(_anchor(game, PERFECT), opening_plies=solver.quick_plies))
    return anchors


def _anchor(game: Game, text: str) -> Competitor:
    spec = parse_player(text)
    spec.make(game).close()  # Refuses a wrong one before the run begins.
    return Competitor(name=spec.name, player=spec)


def choose_opponents(
    anchors: Sequence[Competitor],
    book: RatingBook,
    nets: Mapping[int, Path],
    step: int,
    earlier_nets: int,
) -> list[Competitor]:
    """Choose the opponents of a net: anchors of a similar strength, and earlier nets.

    Args:
        anchors: The weakest first.
        book: The ratings so far.
        nets: Rated nets that are still there, by step.
        step: The net to rate.
        earlier_nets: The largest number of earlier nets.
    """
    earlier = sorted(other for other in nets if other < step)
    expected = book.elo.get(net_name(earlier[-1]), 0.0) if earlier else 0.0

    def gap(anchor: Competitor) -> float:
        return abs(book.elo.get(anchor.name, expected) - expected)

    useful = [anchor for anchor in anchors if gap(anchor) < _USEFUL_GAP]
    if not useful:
        useful = [min(anchors, key=gap)]
    # The last one, and others spread over the run.
    spread = [len(earlier) * part // (earlier_nets + 1) for part in range(1, earlier_nets)]
    chosen = earlier[-1:] + [earlier[index] for index in spread if earlier]
    return useful + [
        Competitor(name=net_name(other), net=nets[other])
        for other in dict.fromkeys(chosen[:earlier_nets])
    ]
