"""Many games in step: whoever is to move chooses in all of its games at once.

A net then judges the leaves of all games in one batch, so that a match of 64 games costs little
more than the evaluations in it.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from zerogames.arena.adjudication import longest_game, score_as_it_stands
from zerogames.arena.openings import Openings
from zerogames.arena.players import Limits, Player, PlayerSpec, Position
from zerogames.arena.results import Outcome
from zerogames.arena.time_control import TimeControl
from zerogames.evaluate import Evaluator
from zerogames.game import Game, State
from zerogames.search import Search, new_search
from zerogames.search.settings import SearchSettings, search_preset

_LEAVES = 4
"""Per game and batch: few, so that a search of few visits is as good as one by one."""
_PATIENCE_S = 3600.0


@dataclass
class LiveGame:
    """A game of a match."""

    number: int
    state: State
    actions: list[int] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    movers: list[int] = field(default_factory=list)
    result: float | None = None
    """First player's view."""

    def play(self, game: Game, action: int | None, *, max_plies: int) -> None:
        """Make a move and look whether the game is over; None resigns."""
        if action is None:
            self.result = -1.0 if self.state.to_play == 0 else 1.0
            return
        self.moves.append(game.format_action(self.state, action))
        self.movers.append(self.state.to_play)
        self.actions.append(action)
        self.state = self.state.play(action)
        self.result = self.state.result
        if self.result is None and len(self.actions) >= max_plies:
            self.result = score_as_it_stands(game, self.state).result


class Side(Protocol):
    """One of the two players of a match, in all of its games."""

    @property
    def name(self) -> str:
        """In ratings."""

    def choose(self, games: Sequence[LiveGame]) -> Sequence[int | None]:
        """A move for each of the games, in which this side is to move; None resigns."""

    def close(self) -> None:
        """Free what is held."""


class NetSide:
    """A net with a search of few visits; keeps a tree for each game."""

    def __init__(
        self,
        name: str,
        game: Game,
        evaluator: Evaluator,
        *,
        visits: int,
        search: SearchSettings | None = None,
    ) -> None:
        self.name = name
        self._game = game
        self._evaluator = evaluator
        self._visits = visits
        self._settings = search or search_preset("engine", cache_mebibytes=0)
        self._searches: dict[int, tuple[Search, int]] = {}
        """By game, with the number of moves it has seen."""
        self._planes = np.empty((0,), np.float32)

    def choose(self, games: Sequence[LiveGame]) -> list[int]:
        """Search all games together."""
        searches = [self._follow(game) for game in games]
        for search in searches:
            search.start(self._visits, explore=False)
        self._search(searches)
        return [self._pick(search) for search in searches]

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
        encoding = self._game.encodings[self._evaluator.encoding.partition(":")[0]]
        room = len(searches) * _LEAVES
        if len(self._planes) < room:
            self._planes = np.empty((room, *encoding.shape), np.float32)
        open_searches = [search for search in searches if not search.done]
        while open_searches:
            counts, rows = [], 0
            for search in open_searches:
                leaves = max(1, min(_LEAVES, search.simulations // 8))
                found = len(search.collect(leaves, self._planes[rows : rows + leaves]))
                counts.append(found)
                rows += found
            if rows:
                self._apply(open_searches, counts, rows)
            open_searches = [search for search in open_searches if not search.done]

    def _apply(self, searches: Sequence[Search], counts: Sequence[int], rows: int) -> None:
        policy, wdl, moves_left = self._evaluator.evaluate(self._planes[:rows])
        first = 0
        for search, count in zip(searches, counts, strict=True):
            part = slice(first, first + count)
            first += count
            if count:
                search.apply(
                    policy[part], wdl[part], None if moves_left is None else moves_left[part]
                )

    def _pick(self, search: Search) -> int:
        if self._visits == 1 and search.proven is None:
            return int(search.actions[int(np.argmax(search.raw_priors))])
        return search.choose(0.0)

    def close(self) -> None:
        """Forget all trees."""
        self._searches.clear()


class PlayerSide:
    """Any player of the arena; each game has its own."""

    def __init__(self, spec: PlayerSpec, game: Game, *, seed: int) -> None:
        self.name = spec.name
        self._spec = spec
        self._game = game
        self._seed = seed
        self._players: dict[int, Player] = {}

    def choose(self, games: Sequence[LiveGame]) -> Sequence[int | None]:
        """Ask the player of each game in turn."""
        return [self._choose(live) for live in games]

    def _choose(self, live: LiveGame) -> int | None:
        position = Position(
            game=self._game,
            start="",
            actions=live.actions,
            moves=live.moves,
            movers=live.movers,
            state=live.state,
        )
        player = self._players.get(live.number)
        if player is None:
            player = self._players[live.number] = self._spec.make(self._game)
            player.new_game(position, self._seed + live.number)
        unlimited = float("inf")
        limits = Limits(
            control=TimeControl(), remaining_s=(unlimited, unlimited), deadline_s=_PATIENCE_S
        )
        return player.choose(position, limits).action

    def close(self) -> None:
        """Close all players."""
        for player in self._players.values():
            player.close()
        self._players.clear()


class Match(Protocol):
    """Makes the two sides of a match; each thread has sides of its own."""

    def __call__(self) -> tuple[Side, Side]:
        """New sides."""


def play_match(
    game: Game,
    make_sides: Match,
    openings: Openings,
    *,
    pairs: int,
    first_pair: int = 0,
    threads: int = 1,
    max_plies: int = 0,
    stop: threading.Event | None = None,
) -> list[Outcome]:
    """Play `pairs` openings with both colours; the outcomes of the pairs that were finished.

    Args:
        game: The game.
        make_sides: The two players.
        openings: Where pairs begin.
        pairs: Two games each.
        first_pair: Number of the first opening.
        threads: The pairs are shared by so many.
        max_plies: Longer games are scored as they stand, or drawn; 0 leaves it to the game.
        stop: Ends the match early.
    """
    stop = stop or threading.Event()
    longest = min(max_plies or longest_game(game), longest_game(game))
    numbers = range(first_pair, first_pair + pairs)
    parts = [numbers[part::threads] for part in range(min(threads, pairs))]
    with ThreadPoolExecutor(max(1, len(parts))) as executor:
        done = executor.map(
            lambda part: _play_part(game, make_sides, openings, part, longest, stop), parts
        )
        return [outcome for outcomes in done for outcome in outcomes]


def _play_part(
    game: Game,
    make_sides: Match,
    openings: Openings,
    pairs: Sequence[int],
    max_plies: int,
    stop: threading.Event,
) -> list[Outcome]:
    sides = make_sides()
    games = []
    for pair in pairs:
        opening = openings[pair]
        for swapped in (0, 1):
            live = LiveGame(2 * pair + swapped, opening.state(game))
            for ply in opening.actions:
                live.play(game, ply, max_plies=max_plies)
            games.append(live)
    try:
        while not stop.is_set():
            moved = False
            for index, side in enumerate(sides):
                # In the second game of a pair the sides change colours.
                mine = [
                    live
                    for live in games
                    if live.result is None and (live.state.to_play ^ (live.number & 1)) == index
                ]
                if mine:
                    moved = True
                    for live, action in zip(mine, side.choose(mine), strict=True):
                        live.play(game, action, max_plies=max_plies)
            if not moved:
                break
    finally:
        for side in sides:
            side.close()
    return _outcomes(games, sides)


def _outcomes(games: Sequence[LiveGame], sides: tuple[Side, Side]) -> list[Outcome]:
    outcomes = []
    for even, odd in zip(games[::2], games[1::2], strict=True):
        if even.result is None or odd.result is None:
            continue
        pair = even.number // 2
        a, b = sides[0].name, sides[1].name
        outcomes.append(Outcome(first=a, second=b, result=even.result, pair=pair))
        outcomes.append(Outcome(first=b, second=a, result=odd.result, pair=pair))
    return outcomes
