"""How strong the nets of a run are: games against fixed players and against earlier nets.

All games of a run are rated together by maximum likelihood (Bradley-Terry, a draw being half a win
for each; 95 % intervals by the sandwich estimator over pairs, right also when draws are many). The
weakest anchor has 0 Elo.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zerogames.arena.batched_match import (
    BatchedMatch,
    NetSide,
    PlayerSide,
    Side,
    play_batched_match,
)
from zerogames.arena.bradley_terry import fit_bradley_terry
from zerogames.arena.elo import Z95
from zerogames.arena.openings import RandomOpenings
from zerogames.arena.players import PlayerSpec, parse_player
from zerogames.arena.results import Pentanomial, Tally, Wdl, tally
from zerogames.engine.choice import read_net_spec
from zerogames.evaluate import open_evaluator
from zerogames.game import Game
from zerogames_selfplay.loop.settings import (
    GateSettings,
    RatingSettings,
    TrainSettings,
)

PERFECT = "perfect"
"""The kind of player that some games have: it never gives a half point away."""
_FEWEST_PAIRS = 4
_MATCH_S = 8.0
"""A match that would take longer has fewer games."""
_USEFUL_GAP = 500.0
"""In Elo: games against players further away are all won or all lost."""


def net_name(step: int) -> str:
    """A net in ratings."""
    return f"step-{step:08d}"


@dataclass(frozen=True, kw_only=True)
class Opponent:
    """Whom a net is rated against: a net of the run, or a player of the arena."""

    name: str
    net: Path | None = None
    player: PlayerSpec | None = None
    opening_plies: int = 0
    """Random moves at the start that it needs at least."""


@dataclass(kw_only=True)
class RatingBook:
    """All rating games of a run and what they say."""

    reference: str
    """Has 0 Elo."""
    tallies: list[Tally] = field(default_factory=list)
    elo: dict[str, float] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    """Half the width of the 95 % interval."""

    def add(self, tallies: Sequence[Tally]) -> None:
        """Take games in and rate everybody anew."""
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
        """Take in a line of `ratings.jsonl`."""
        name = net_name(int(line["step"]))
        self.add([_read_result(name, result) for result in line["results"]])


def _read_result(name: str, result: Mapping[str, Any]) -> Tally:
    wdl = Wdl(result["wins"], result["draws"], result["losses"])
    return Tally(name, str(result["opponent"]), wdl, Pentanomial(*result["pairs"]))


def rating_line(
    book: RatingBook, tallies: Sequence[Tally], *, step: int, time_s: float, seconds: float
) -> dict[str, Any]:
    """The line of a net that has just been rated."""
    name = net_name(step)
    elo, error = book.elo.get(name, 0.0), book.error.get(name, 0.0)
    results = []
    for one in tallies:
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
        "step": step,
        "elo": round(elo, 1),
        "low": round(elo - error, 1),
        "high": round(elo + error, 1),
        "results": results,
        "anchors": players,
        "seconds": round(seconds, 2),
    }


def rating_anchors(game: Game, settings: RatingSettings) -> list[Opponent]:
    """The players whose strength never changes, the weakest first."""
    anchors = [_anchor(game, text) for text in settings.anchors]
    solver = game.new_solver() if settings.perfect else None
    if solver is not None:
        # It takes long over open positions.
        anchors.append(replace(_anchor(game, PERFECT), opening_plies=solver.quick_plies))
    return anchors


def _anchor(game: Game, text: str) -> Opponent:
    spec = parse_player(text)
    spec.make(game).close()  # refuse a wrong one before the run begins
    return Opponent(name=spec.name, player=spec)


def choose_opponents(
    anchors: Sequence[Opponent],
    book: RatingBook,
    nets: Mapping[int, Path],
    step: int,
    earlier_nets: int,
) -> list[Opponent]:
    """Whom a net should meet: the anchors that still tell something, and earlier nets.

    Args:
        anchors: The weakest first.
        book: What is known.
        nets: Rated nets that are still there, by step.
        step: The net to rate.
        earlier_nets: How many of them at most.
    """
    earlier = sorted(other for other in nets if other < step)
    expected = book.elo.get(net_name(earlier[-1]), 0.0) if earlier else 0.0

    def gap(anchor: Opponent) -> float:
        return abs(book.elo.get(anchor.name, expected) - expected)

    useful = [anchor for anchor in anchors if gap(anchor) < _USEFUL_GAP]
    if not useful:
        useful = [min(anchors, key=gap)]
    # The last one, and others spread over the run.
    spread = [len(earlier) * part // (earlier_nets + 1) for part in range(1, earlier_nets)]
    chosen = earlier[-1:] + [earlier[index] for index in spread if earlier]
    return useful + [
        Opponent(name=net_name(other), net=nets[other])
        for other in dict.fromkeys(chosen[:earlier_nets])
    ]


class Rater:
    """Plays the matches; knows how long each opponent takes."""

    def __init__(self, game: Game, settings: TrainSettings, *, threads: int) -> None:
        self._game = game
        self._settings = settings.rating
        self._kind = settings.evaluator
        self._seed = settings.seed
        self._threads = threads
        self._pair_s: dict[str, float] = {}
        """By opponent: seconds for a pair of games."""
        self._next_pair = 0

    def rate(
        self,
        step: int,
        net: Path,
        opponents: Sequence[Opponent],
        *,
        stop: threading.Event | None = None,
        on_match: Callable[[str], None] | None = None,
    ) -> list[Tally]:
        """Play a net against its opponents; each tally is seen by the net."""
        name, tallies = net_name(step), []
        for opponent in opponents:
            if stop is not None and stop.is_set():
                break
            if on_match is not None:
                on_match(opponent.name)
            cost = self._pair_s.get(opponent.name)
            pairs = self._settings.pairs
            if cost is not None:
                pairs = max(min(pairs, int(_MATCH_S / cost)), min(pairs, _FEWEST_PAIRS))
            elif opponent.player is not None:
                pairs = min(pairs, _FEWEST_PAIRS)  # it may be slow
            begin = time.monotonic()
            tallies += self._play(name, net, opponent, pairs, self._settings.visits, stop)
            seconds = (time.monotonic() - begin) / pairs
            self._pair_s[opponent.name] = seconds if cost is None else (seconds + cost) / 2
        return tallies

    def _play(
        self,
        name: str,
        net: Path,
        opponent: Opponent,
        pairs: int,
        visits: int,
        stop: threading.Event | None,
    ) -> list[Tally]:
        settings = self._settings
        seed = self._seed

        def sides() -> tuple[Side, Side]:
            mine = self._net_side(name, net, visits)
            if opponent.net is not None:
                return mine, self._net_side(opponent.name, opponent.net, visits)
            assert opponent.player is not None
            return mine, PlayerSide(opponent.player, self._game, seed=seed)

        first, self._next_pair = self._next_pair, self._next_pair + pairs
        # A perfect player has a large table of its own: not many at once.
        together = pairs if opponent.name != PERFECT else 2
        plies = max(settings.opening_plies, opponent.opening_plies)
        outcomes = []
        for pair in range(first, first + pairs, together):
            match = BatchedMatch(
                game=self._game,
                openings=RandomOpenings(self._game, plies, seed),
                pairs=min(together, first + pairs - pair),
                first_pair=pair,
                threads=self._threads,
                max_plies=settings.max_plies,
            )
            outcomes += play_batched_match(match, sides, stop=stop)
        return [one if one.a == name else one.swapped for one in tally(outcomes)]

    def _net_side(self, name: str, net: Path, visits: int) -> NetSide:
        evaluator = open_evaluator(self._game, kind=self._kind, net=net, threads=1)
        spec = read_net_spec(self._game, net)
        return NetSide(name, self._game, evaluator, visits=visits, net=spec)

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """Whether a new net does well enough against the one that plays."""
        opponent = Opponent(name="champion", net=champion)
        tallies = self._play("candidate", candidate, opponent, gate.pairs, gate.visits, None)
        wdl = tallies[0].wdl
        return wdl.score >= gate.score, wdl
