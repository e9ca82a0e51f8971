"""What the play page asks: games, opponents, positions, moves, hints, files."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, StringConstraints

from zerogames.data.formats import get_game_data
from zerogames.data.header import GameHeader
from zerogames.data.record import GameRecord
from zerogames.engine.levels import LEVELS
from zerogames.errors import UserError, unknown_name
from zerogames.play.adviser import Advice
from zerogames.registry import get_game
from zerogames.web.asking import Asked, Routes
from zerogames.web.game_line import LARGEST_LINE, GameLine, GameLines, show_position
from zerogames.web.games import list_games
from zerogames.web.opponents import Opponents

MOST_HINTS = 8
"""Moves shown by a hint."""

Identity = Annotated[str, StringConstraints(max_length=300)]
Text = Annotated[str, StringConstraints(max_length=4000)]
Name = Annotated[str, StringConstraints(max_length=100)]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A game, where it began, and its moves."""

    game: Identity
    start: Text = ""
    actions: Annotated[Sequence[int], Field(max_length=LARGEST_LINE)] = ()
    view: Literal[0, 1] = 0
    """The player who sits below."""


@dataclass(frozen=True, kw_only=True)
class GameChoice:
    """A game for which the page wants the opponents."""

    game: Identity


@dataclass(frozen=True, kw_only=True)
class Question(Line):
    """What would this opponent play?"""

    opponent: Name
    level: Annotated[int, Field(ge=1, le=len(LEVELS))] = len(LEVELS)


@dataclass(frozen=True, kw_only=True)
class Save(Line):
    """A game to be written as a file."""

    form: Name
    names: tuple[Name, Name] = ("", "")
    """First and second player."""
    resigned: Literal[0, 1] | None = None


class PlayRoutes:
    """Answers the play page."""

    def __init__(self, lines: GameLines, opponents: Opponents, first_game: str) -> None:
        self._lines = lines
        self._opponents = opponents
        self._first_game = first_game

    @property
    def routes(self) -> Routes:
        """By path: the kind of question, and the function that answers it in a thread."""
        return {
            "games": Asked(None, self._games),
            "choices": Asked(GameChoice, self._choices),
            "position": Asked(Line, self._position),
            "move": Asked(Question, self._move),
            "hint": Asked(Question, self._hint),
            "save": Asked(Save, self._save),
        }

    def _games(self, question: None, stop: Event) -> dict[str, object]:
        levels = [{"name": level.name, "about": level.about} for level in LEVELS]
        return {"games": list_games(), "levels": levels, "first": self._first_game}

    def _choices(self, question: GameChoice, stop: Event) -> dict[str, object]:
        game = get_game(question.game)
        writers = get_game_data(game).writers
        return {
            "game": game.spec.identity,
            "sides": game.sides,
            "opponents": [vars(opponent) for opponent in self._opponents.of(game)],
            "forms": [name for name, writer in writers.items() if not writer.one_per_file],
        }

    def _replay(self, line: Line) -> GameLine:
        return self._lines.replay(line.game, line.start, line.actions)

    def _position(self, question: Line, stop: Event) -> dict[str, object]:
        return show_position(self._replay(question), view=question.view)

    def _ask(self, line: GameLine, question: Question, stop: Event) -> tuple[Advice, int]:
        """What the opponent finds, and the move that it chooses at its level."""
        if line.state.result is not None:
            raise UserError("the game is over")
        with self._opponents.seat(line.game, question.opponent, stop) as adviser:
            adviser.set_level(question.level)
            advice = adviser.think(line.states[0], line.actions, stop=stop)
            return advice, adviser.choose(advice)

    def _move(self, question: Question, stop: Event) -> dict[str, object]:
        line = self._replay(question)
        advice, action = self._ask(line, question, stop)
        after = self._lines.replay(question.game, question.start, [*question.actions, action])
        return {
            "action": action,
            "text": after.texts[-1],
            "score": advice.score,
            "nodes": advice.nodes,
            "position": show_position(after, view=question.view),
        }

    def _hint(self, question: Question, stop: Event) -> dict[str, object]:
        line = self._replay(question)
        advice, _ = self._ask(line, question, stop)
        return {
            "score": advice.score,
            "nodes": advice.nodes,
            "moves": [
                {
                    "action": move.action,
                    "text": line.game.notation(line.state, move.action),
                    "policy": move.policy,
                    "visits": move.visits,
                    "score": move.score,
                }
                for move in advice.moves[:MOST_HINTS]
            ],
        }

    def _save(self, question: Save, stop: Event) -> dict[str, object]:
        line = self._replay(question)
        game, data = line.game, get_game_data(line.game)
        writers = {name: one for name, one in data.writers.items() if not one.one_per_file}
        if question.form not in writers:
            raise unknown_name(f"record format of {game.spec.name}", question.form, writers)
        result, reason = line.state.result, line.state.end_reason
        if question.resigned is not None:
            result, reason = (-1.0, 1.0)[question.resigned], "resignation"
        record = GameRecord(
            game=game.spec.identity,
            start=line.start,
            actions=np.array(line.actions, np.int32),
            result=result,
            reason=reason,
            tags=data.tags(GameHeader(first=question.names[0], second=question.names[1])),
        )
        writer = writers[question.form]
        return {
            "name": f"{game.spec.name}{writer.suffix}",
            "text": writer.write(record).decode(errors="replace"),
        }
