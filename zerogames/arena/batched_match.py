"""A match whose games advance together: a side chooses its moves in all games at once.

A net evaluates the leaves of all games in one batch, so a match of 64 games costs little more than
its evaluations.
"""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from zerogames.arena.adjudication import longest_game, lost_by, score_as_it_stands
from zerogames.arena.openings import Openings
from zerogames.arena.players import MoveLimits, Player, PlayerSpec, Position
from zerogames.arena.results import Outcome
from zerogames.arena.time_control import TimeControl
from zerogames.engine.choice import root_actions
from zerogames.evaluate import Evaluator
from zerogames.game import Game, find_encoding
from zerogames.nets.spec import NetSpec
from zerogames.search import Search, new_search
from zerogames.search.settings import search_preset

_LEAVES = 4
"""Leaves per game and batch: few, so that batching does not weaken a search of few visits."""
_NO_LIMITS = MoveLimits(control=TimeControl(), remaining_s=(math.inf, math.inf), deadline_s=3600.0)
"""Players of the arena keep to their own limits here."""


@dataclass(kw_only=True)
class LiveGame(Position):
    """A game of a match while it is played."""

    number: int
    result: float | None = None
    """First player's view."""

    def advance(self, action: int | None, *, max_plies: int) -> None:
        """Play a move, or resign if it is None, and set the result when the game is over."""
        if action is None:
            self.result = lost_by(self.state.to_play, "resignation").result
            return
        self.play(action)
        self.result = self.state.result
        if self.result is None and len(self.actions) >= max_plies:
            self.result = score_as_it_stands(self.game, self.state).result


class Side(Protocol):
    """One of the two players of a match. It plays in all games of the match."""

    @property
    def name(self) -> str:
        """The name of the player in ratings."""

    def choose(self, games: Sequence[LiveGame]) -> Sequence[int | None]:
        """Choose a move in each of the games; this side is to move in all. None resigns."""

    def close(self) -> None:
        """Free the trees or processes of the side."""


class NetSide:
    """A net with a search of few visits. It keeps one tree per game.

    `visits` are the simulations per move; 1 plays the move with the highest prior. The architecture
    `net` decides what `Game.sensible_actions` are.
    """

    def __init__(
        self,
        name: str,
        game: Game,
        evaluator: Evaluator,
        *,
        visits: int,
        net: NetSpec | None = None,
    ) -> None:
        self.name = name
        self._game = game
        self._evaluator = evaluator
        self._visits = visits
        self._net = net
        self._settings = search_preset("engine", cache_mebibytes=0)
        self._searches: dict[int, tuple[Search, int]] = {}
        """The search of each game by its number, and how many moves of the game it has followed."""
        self._shape = find_encoding(game, evaluator.encoding).shape
        self._planes = np.empty((0, *self._shape), np.float32)

    def choose(self, games: Sequence[LiveGame]) -> list[int]:
        """Search all games together."""
        searches = [self._follow(game) for game in games]
        # With one visit the policy decides: a search that has only evaluated its root.
        simulations = 0 if self._visits == 1 else self._visits
        for live, search in zip(games, searches, strict=True):
            allowed = root_actions(self._game, live.state, self._net)
            search.start(simulations, explore=False, allowed=allowed)
        self._search(searches)
        return [search.choose(0.0) for search in searches]

    def _follow(self, live: LiveGame) -> Search:
        search, known = self._searches.get(live.number, (None, 0))
        if search is None:
            search = new_search(
                self._game,
                self._settings,
                state=live.state,
                encoding=self._evaluator.encoding,
                needs_observation=self._evaluator.capabilities.needs_observation,
            )
        else:
            for action in live.actions[known:]:
                search.advance(action)
        self._searches[live.number] = (search, len(live.actions))
        return search

    def _search(self, searches: Sequence[Search]) -> None:
        room = len(searches) * _LEAVES
        if len(self._planes) < room:
            self._planes = np.empty((room, *self._shape), np.float32)
        while open_searches := [search for search in searches if not search.done]:
            ends = [0]  # of each search's rows, behind the one before
            for search in open_searches:
                leaves = max(1, min(_LEAVES, search.simulations // 8))
                planes = self._planes[ends[-1] : ends[-1] + leaves]
                ends.append(ends[-1] + len(search.collect(leaves, planes)))
            if not ends[-1]:
                continue
            policy, wdl, left = self._evaluator.evaluate(self._planes[: ends[-1]])
            for search, first, end in zip(open_searches, ends, ends[1:], strict=False):
                if end > first:
                    moves_left = None if left is None else left[first:end]
                    search.apply(policy[first:end], wdl[first:end], moves_left)

    def close(self) -> None:
        """Forget all trees."""
        self._searches.clear()


class PlayerSide:
    """Any player of the arena. Each game has a player object of its own."""

    def __init__(self, spec: PlayerSpec, game: Game, *, seed: int) -> None:
        self.name = spec.name
        self._spec = spec
        self._game = game
        self._seed = seed
        self._players: dict[int, Player] = {}

    def choose(self, games: Sequence[LiveGame]) -> Sequence[int | None]:
        """Ask the player of each game in turn."""
        for live in games:
            if live.number not in self._players:
                self._players[live.number] = player = self._spec.make(self._game)
                player.new_game(live, self._seed + live.number)
        return [self._players[live.number].choose(live, _NO_LIMITS).action for live in games]

    def close(self) -> None:
        """Close all players."""
        for player in self._players.values():
            player.close()


MakeSides = Callable[[], tuple[Side, Side]]
"""Makes the two sides of a match; it is called once per thread."""


@dataclass(frozen=True, kw_only=True)
class BatchedMatch:
    """The conditions of a match. Every opening is played twice, with colours swapped."""

    game: Game
    openings: Openings
    pairs: int
    """Number of openings; each gives two games."""
    first_pair: int = 0
    """Number of the first opening."""
    threads: int = 1
    """Number of threads that share the pairs."""
    max_plies: int = 0
    """A longer game is scored as it stands, or drawn. The default 0 uses the game's own limit."""


def play_batched_match(
    match: BatchedMatch, make_sides: MakeSides, *, stop: threading.Event | None = None
) -> list[Outcome]:
    """Play a match and return the outcomes of the finished pairs; `stop` ends it early."""
    stop = stop or threading.Event()
    numbers = range(match.first_pair, match.first_pair + match.pairs)
    parts = [numbers[part :: match.threads] for part in range(min(match.threads, match.pairs))]
    with ThreadPoolExecutor(max(1, len(parts))) as executor:
        done = executor.map(lambda part: _play_part(match, make_sides, part, stop), parts)
        return [outcome for outcomes in done for outcome in outcomes]


def _play_part(
    match: BatchedMatch, make_sides: MakeSides, pairs: Sequence[int], stop: threading.Event
) -> list[Outcome]:
    game, openings = match.game, match.openings
    max_plies = min(match.max_plies or longest_game(game), longest_game(game))
    sides = make_sides()
    games = []
    for pair in pairs:
        opening = openings[pair]
        for swapped in (0, 1):
            number, state = 2 * pair + swapped, opening.state(game)
            live = LiveGame(number=number, game=game, start=opening.start, state=state)
            for ply in opening.actions:
                live.advance(ply, max_plies=max_plies)
            games.append(live)
    try:
        while not stop.is_set() and any(live.result is None for live in games):
            for index, side in enumerate(sides):
                # In the second game of a pair the sides change colours.
                mine = [
                    live
                    for live in games
                    if live.result is None and (live.state.to_play ^ (live.number & 1)) == index
                ]
                actions = side.choose(mine) if mine else ()
                for live, action in zip(mine, actions, strict=True):
                    live.advance(action, max_plies=max_plies)
    finally:
        for side in sides:
            side.close()
    a, b = sides[0].name, sides[1].name
    outcomes = []
    for even, odd in zip(games[::2], games[1::2], strict=True):
        if even.result is not None and odd.result is not None:
            pair = even.number // 2
            outcomes += [Outcome(a, b, even.result, pair), Outcome(b, a, odd.result, pair)]
    return outcomes
