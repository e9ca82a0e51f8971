"""Plays the rating and gate matches of a run."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from zerogames.arena.batched_match import (
    BatchedMatch,
    NetSide,
    PlayerSide,
    Side,
    play_batched_match,
)
from zerogames.arena.openings import RandomOpenings
from zerogames.arena.results import Tally, Wdl, tally
from zerogames.engine.choice import read_net_spec
from zerogames.evaluate import open_evaluator
from zerogames.game import Game
from zerogames_selfplay.loop.rating import (
    PERFECT,
    Competitor,
    RatingJob,
    RatingResult,
    net_name,
)
from zerogames_selfplay.loop.settings import GateSettings, TrainSettings

_FEWEST_PAIRS = 4
_MATCH_S = 8.0
"""A match that would take longer has fewer games."""


class RatingMatches:
    """Plays matches, and measures how long each opponent takes."""

    def __init__(
        self,
        game: Game,
        settings: TrainSettings,
        *,
        threads: int,
        stop: threading.Event | None = None,
    ) -> None:
        self._game = game
        self._settings = settings.rating
        self._kind = settings.evaluator
        self._seed = settings.seed
        self._threads = threads
        self._stop = stop
        self._pair_s: dict[str, float] = {}
        """Seconds for a pair of games, by opponent."""
        self._next_pair = 0

    @property
    def is_stopped(self) -> bool:
        """Whether somebody wants the run to end."""
        return self._stop is not None and self._stop.is_set()

    def rate(self, job: RatingJob, on_match: Callable[[str], None] | None = None) -> RatingResult:
        """Play a net against its opponents; `on_match` gets the name of each."""
        begin = time.monotonic()
        net, tallies = Competitor(name=net_name(job.step), net=job.net), []
        for opponent in job.opponents:
            if self.is_stopped:
                break
            if on_match is not None:
                on_match(opponent.name)
            tallies += self._play_in_time(net, opponent)
        seconds = time.monotonic() - begin
        return RatingResult(step=job.step, tallies=tallies, seconds=seconds)

    def passes_gate(self, candidate: Path, champion: Path, gate: GateSettings) -> tuple[bool, Wdl]:
        """Play the gate match: whether the candidate scores enough, and its results."""
        sides = (
            Competitor(name="candidate", net=candidate),
            Competitor(name="champion", net=champion),
        )
        wdl = self._play(*sides, pairs=gate.pairs, visits=gate.visits, stop=None)[0].wdl
        return wdl.score >= gate.score, wdl

    def _play_in_time(self, net: Competitor, opponent: Competitor) -> list[Tally]:
        cost = self._pair_s.get(opponent.name)
        pairs = self._settings.pairs
        if cost is not None:
            pairs = max(min(pairs, int(_MATCH_S / cost)), min(pairs, _FEWEST_PAIRS))
        elif opponent.player is not None:
            pairs = min(pairs, _FEWEST_PAIRS)  # It may be slow.
        begin = time.monotonic()
        visits = self._settings.visits
        tallies = self._play(net, opponent, pairs=pairs, visits=visits, stop=self._stop)
        seconds = (time.monotonic() - begin) / pairs
        self._pair_s[opponent.name] = seconds if cost is None else (seconds + cost) / 2
        return tallies

    def _play(
        self,
        net: Competitor,
        opponent: Competitor,
        *,
        pairs: int,
        visits: int,
        stop: threading.Event | None,
    ) -> list[Tally]:
        settings = self._settings

        def sides() -> tuple[Side, Side]:
            return self._side(net, visits), self._side(opponent, visits)

        first, self._next_pair = self._next_pair, self._next_pair + pairs
        # A perfect player has a large table of its own: not many at once.
        together = pairs if opponent.name != PERFECT else 2
        plies = max(settings.opening_plies, opponent.opening_plies)
        outcomes = []
        for pair in range(first, first + pairs, together):
            match = BatchedMatch(
                game=self._game,
                openings=RandomOpenings(self._game, plies, self._seed),
                pairs=min(together, first + pairs - pair),
                first_pair=pair,
                threads=self._threads,
                max_plies=settings.max_plies,
            )
            outcomes += play_batched_match(match, sides, stop=stop)
        return [one if one.a == net.name else one.swapped for one in tally(outcomes)]

    def _side(self, competitor: Competitor, visits: int) -> Side:
        if competitor.net is None:
            assert competitor.player is not None
            return PlayerSide(competitor.player, self._game, seed=self._seed)
        evaluator = open_evaluator(self._game, kind=self._kind, net=competitor.net, threads=1)
        spec = read_net_spec(self._game, competitor.net)
        return NetSide(competitor.name, self._game, evaluator, visits=visits, net=spec)
