"""What the analysis page asks: reading games, searching while it looks, reviewing a whole game."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Annotated

from pydantic import Field, StringConstraints

from zerogames.data.formats import get_game_data
from zerogames.data.record import GameRecord
from zerogames.engine import ThinkLimits, Thought
from zerogames.errors import UserError
from zerogames.game import Game, State, parse_actions, parse_position
from zerogames.play.adviser import Adviser, NetAdviser
from zerogames.registry import get_game
from zerogames.web.asking import Asked, Outbox, Routes, Streamed
from zerogames.web.game_line import LARGEST_LINE, GameLine, GameLines
from zerogames.web.opponents import Opponents
from zerogames.web.play_routes import Identity, Line, Name

MOST_GAMES = 200
"""Games of a file that the page lists."""
MOST_MOVES = 40
"""Moves that an update tells, the most visited ones."""
UPDATE_S = 0.1
"""Seconds between two updates."""
SHOWN_LINES, SHOWN_PLIES = 4, 8
"""Principal variations of an update, and their length."""
_POSITION_LENGTH = 400


@dataclass(frozen=True, kw_only=True)
class Text:
    """What was pasted or opened: a position or games."""

    game: Identity
    text: Annotated[str, StringConstraints(max_length=11_000_000)]


@dataclass(frozen=True, kw_only=True)
class Search(Line):
    """Search the last position until the page goes away."""

    opponent: Name
    nodes: Annotated[int, Field(ge=1, le=10_000_000)] = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Review(Line):
    """Search every position of a line."""

    opponent: Name
    nodes: Annotated[int, Field(ge=1, le=100_000)] = 100


class AnalyseRoutes:
    """Answers the analysis page."""

    def __init__(self, lines: GameLines, opponents: Opponents) -> None:
        self._lines = lines
        self._opponents = opponents
        self._running: dict[tuple[str, str], Event] = {}
        self._lock = threading.Lock()

    @property
    def routes(self) -> Routes:
        """The questions with one answer."""
        return {"read": Asked(Text, self._read)}

    @property
    def streams(self) -> Mapping[str, Streamed]:
        """The questions that are answered by events."""
        return {
            "search": Streamed(Search, self._search),
            "review": Streamed(Review, self._review),
        }

    def _read(self, question: Text, stop: Event) -> dict[str, object]:
        game = get_game(question.game)
        text = question.text.strip()
        if not text:
            raise UserError("paste a position or a game first")
        problem: UserError | None = None
        try:
            games = list(islice(_read_games(game, text, stop), MOST_GAMES))
            if any(one["actions"] for one in games):
                return {"games": games}
        except UserError as error:
            problem = error
        try:
            return {"games": [_read_line(game, text)]}
        except UserError as error:
            if problem is None or (len(text) < _POSITION_LENGTH and "\n" not in text):
                problem = UserError(f"this is no game, and no position: {error}")
        raise problem

    def _search(self, question: Search, outbox: Outbox) -> None:
        line = self._replay(question)
        if line.state.result is not None:
            raise UserError("the game is over")
        with self._take_turn(question, outbox.stop), self._seat(question, outbox.stop) as adviser:
            if isinstance(adviser, NetAdviser):
                writer = ThoughtWriter(line.game, line.state)
                engine = adviser.engine
                engine.set_position(line.states[0], line.actions)

                def show(thought: Thought) -> None:
                    outbox.replace(lambda: writer.write(thought))

                thought = engine.think(
                    ThinkLimits(nodes=question.nodes, lines=SHOWN_LINES),
                    stop=outbox.stop,
                    on_info=show,
                    info_interval_s=UPDATE_S,
                )
                outbox.send(writer.write(thought) | {"done": True})
            else:
                _search_without_net(line, adviser, question.nodes, outbox)

    def _review(self, question: Review, outbox: Outbox) -> None:
        line = self._replay(question)
        with self._seat(question, outbox.stop) as adviser:
            for ply in range(len(line.states)):
                if outbox.stop.is_set():
                    return
                outbox.send(_review_position(line, ply, adviser, question))
        outbox.send({"done": True})

    def _replay(self, line: Line) -> GameLine:
        return self._lines.replay(line.game, line.start, line.actions)

    def _seat(self, question: Search | Review, stop: Event) -> AbstractContextManager[Adviser]:
        game, purpose = get_game(question.game), type(question).__name__
        return self._opponents.seat(game, question.opponent, stop, purpose=purpose)

    @contextmanager
    def _take_turn(self, question: Search, stop: Event) -> Iterator[None]:
        """Stop the search that used this net before: the newest question is the one looked at."""
        key = question.game, question.opponent
        with self._lock:
            if key in self._running:
                self._running[key].set()
            self._running[key] = stop
        try:
            yield
        finally:
            with self._lock:
                if self._running.get(key) is stop:
                    del self._running[key]


class ThoughtWriter:
    """Writes what a search found for the page; remembers the texts of its lines."""

    def __init__(self, game: Game, state: State) -> None:
        self._game = game
        self._known: dict[tuple[int, ...], tuple[State, str]] = {(): (state, "")}

    def write(self, thought: Thought) -> dict[str, object]:
        """Describe a search in the view of the side to move."""
        return {
            "nodes": thought.nodes,
            "speed": round(thought.nodes_per_s),
            "depth": thought.depth,
            "value": thought.value,
            "wdl": thought.wdl,
            "net": thought.net_value,
            "moves": [
                {
                    "action": move.action,
                    "visits": move.visits,
                    "prior": move.prior,
                    "value": move.value if move.visits else None,
                    "draw": move.draw,
                    "mate": move.mate,
                    "line": self._texts(move.line[:SHOWN_PLIES]),
                }
                for move in thought.moves[:MOST_MOVES]
            ],
        }

    def _texts(self, actions: Sequence[int]) -> list[str]:
        texts = []
        for end in range(1, len(actions) + 1):
            line = tuple(actions[:end])
            if line not in self._known:
                state = self._known[line[:-1]][0]
                text = self._game.notation(state, line[-1])
                self._known[line] = state.play(line[-1]), text
            texts.append(self._known[line][1])
        return texts


def _search_without_net(line: GameLine, adviser: Adviser, nodes: int, outbox: Outbox) -> None:
    """Search with more and more rollouts."""
    adviser.nodes = 250
    while True:
        advice = adviser.think(line.states[0], line.actions, stop=outbox.stop)
        outbox.send(
            {
                "nodes": advice.nodes,
                "value": 2 * advice.score - 1,
                "moves": [
                    {
                        "action": move.action,
                        "visits": round(move.visits * advice.nodes),
                        "prior": None,
                        "value": None if move.score is None else 2 * move.score - 1,
                        "line": [line.game.notation(line.state, move.action)],
                    }
                    for move in advice.moves[:MOST_MOVES]
                ],
                "done": 2 * adviser.nodes > nodes,
            }
        )
        if 2 * adviser.nodes > nodes or outbox.stop.is_set():
            return
        adviser.nodes *= 2


def _review_position(
    line: GameLine, ply: int, adviser: Adviser, question: Review
) -> dict[str, object]:
    """Return the first player's expected points, and the best move."""
    state = line.states[ply]
    if state.result is not None:
        return {"ply": ply, "score": (1 + state.result) / 2, "best": ""}
    adviser.nodes = adviser.nodes_per_node * question.nodes
    advice = adviser.think(line.states[0], line.actions[:ply])
    return {
        "ply": ply,
        "score": advice.score if state.to_play == 0 else 1 - advice.score,
        "best": line.game.notation(state, advice.best),
    }


def _read_line(game: Game, text: str) -> dict[str, object]:
    """Read `[startpos | <position>] [moves <move> ...]`, or moves alone."""
    position, _, moves = f" {text} ".partition(" moves ")
    try:
        state = parse_position(game, position)
    except UserError as error:
        state, moves = game.initial_state(), text
        try:
            parse_actions(game, state, moves.split())
        except UserError:
            raise error from None
    return {
        "title": "position",
        "start": game.format_state(state),
        "actions": parse_actions(game, state, moves.split()),
    }


def _read_games(game: Game, text: str, stop: Event) -> Iterator[dict[str, object]]:
    """Read games in whichever form of the game the text has."""
    problem: UserError | None = None
    data = text.encode()
    for name, reader in get_game_data(game).readers.items():
        found = 0
        try:
            for record in reader(data):
                if stop.is_set():
                    return
                found += 1
                yield _game_of(record)
        except UserError as error:
            problem = problem or UserError(f"read as {name}: {error}")
        if found:
            return
    if problem is not None:
        raise problem


def _game_of(record: GameRecord) -> dict[str, object]:
    if len(record.actions) > LARGEST_LINE:
        raise UserError(f"a game is too long: {LARGEST_LINE} plies is the most")
    names = [record.tags.get(tag, "") for tag in ("White", "Black", "PW", "PB", "Event", "Date")]
    return {
        "title": " ".join(name for name in names if name not in ("", "?"))[:120] or "game",
        "game": record.game,
        "start": record.start,
        "actions": record.actions.tolist(),
        "result": record.result,
        "comments": {str(ply): text[:2000] for ply, text in record.comments.items()},
    }
