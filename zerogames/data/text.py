"""A plain text form of game records that every game has: PGN's tags, then the moves."""

import re
from collections.abc import Iterator

import numpy as np

from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.game import Game, format_actions, parse_actions

_TAG = re.compile(r'\[(\w+) "((?:[^"\\]|\\.)*)"\]')
_OWN_TAGS = ("Game", "Start", "Result", "Reason")


def write_text(game: Game, record: GameRecord) -> str:
    """Write one game: `[Tag "value"]` lines, an empty line, the moves."""
    result = "*" if record.result is None else f"{record.result:g}"
    tags = {"Game": record.game, "Start": record.start, "Result": result, "Reason": record.reason}
    tags |= {key: value for key, value in record.tags.items() if key not in _OWN_TAGS}
    lines = [f'[{key} "{_escape(value)}"]' for key, value in tags.items() if value]
    moves = format_actions(game, record.start_state(game), record.actions)
    return "\n".join([*lines, "", " ".join(moves), ""])


def read_text(game: Game, data: bytes) -> Iterator[GameRecord]:
    """Read the games that `write_text` wrote, one after another."""
    tags: dict[str, str] = {}
    blank = False
    for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
        if line.startswith("["):
            match = _TAG.fullmatch(line.strip())
            if match is None:
                raise UserError(f'line {number}: a tag is written [Name "value"]')
            tags[match[1]] = re.sub(r"\\(.)", r"\1", match[2])
            blank = False
        elif tags and blank:
            yield _record(game, tags, line, number)
            tags = {}
        elif line.strip():
            raise UserError(f"line {number}: moves without tags and an empty line before them")
        else:
            blank = True
    if tags:
        raise UserError("the file ends before the moves of its last game")


def _record(game: Game, tags: dict[str, str], moves: str, number: int) -> GameRecord:
    identity = tags.get("Game", "")
    if identity != game.spec.identity:
        raise UserError(f"line {number}: a game of '{identity}', not of '{game.spec.identity}'")
    try:
        result = None if tags.get("Result", "*") == "*" else float(tags["Result"])
        start = tags.get("Start", "")
        state = game.parse_state(start) if start else game.initial_state()
        actions = parse_actions(game, state, moves.split())
    except ValueError as error:
        raise UserError(f"line {number}: {error}") from None
    return GameRecord(
        game=identity,
        start=start,
        actions=np.array(actions, np.int32),
        result=result,
        reason=tags.get("Reason", ""),
        tags={key: value for key, value in tags.items() if key not in _OWN_TAGS},
    )


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
