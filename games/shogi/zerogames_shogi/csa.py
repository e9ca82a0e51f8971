"""Game records in CSA's format, as computer shogi and its servers write them (versions 2 and 3)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames_shogi import _native
from zerogames_shogi.csa_position import CsaPosition, format_position
from zerogames_shogi.pieces import CSA_NAMES, KING, LETTERS, PROMOTED
from zerogames_shogi.shogi_game import native_state

_MOVE = re.compile(r"([+-])(\d\d)(\d\d)([A-Z]{2})")
_TAGS = {
    "EVENT": "Event",
    "SITE": "Site",
    "START_TIME": "Date",
    "OPENING": "Opening",
    "TIME": "TimeControl",
    "TIME_LIMIT": "TimeControl",
}
_WRITTEN_TAGS = ("EVENT", "SITE", "START_TIME", "OPENING", "TIME_LIMIT")
_ENDS: dict[str, tuple[str, float | None]] = {
    "TORYO": ("resignation", -1.0),
    "TIME_UP": ("time", -1.0),
    "ILLEGAL_MOVE": ("illegal move", -1.0),
    "TSUMI": ("checkmate", -1.0),
    "KACHI": ("entering king", 1.0),
    "SENNICHITE": ("repetition", 0.0),
    "MAX_MOVES": ("move limit", 0.0),
    "JISHOGI": ("impasse", 0.0),
    "HIKIWAKE": ("agreement", 0.0),
    "CHUDAN": ("", None),
    "FUZUMI": ("", None),
    "MATTA": ("", None),
    "ERROR": ("", None),
}
"""The reason and the result in the view of the side to move."""
_FOULS = {"+ILLEGAL_ACTION": -1.0, "-ILLEGAL_ACTION": 1.0}
"""The first player's result after a foul of either side; perpetual check is one."""


def read_csa(
    data: bytes, game: Game, *, on_error: Callable[[UserError], None] | None = None
) -> Iterator[GameRecord]:
    """Read the games of a file, UTF-8 or Shift JIS, which lines `/` separate.

    A game that continues after our rules have ended it is cut there and has the result of the
    rules. A broken game raises `UserError` that tells which; with `on_error` it is handed there.
    """
    number = 0
    for text in re.split(r"^/[ \t]*$", _decode(data).replace("\r\n", "\n"), flags=re.MULTILINE):
        if not text.strip():
            continue
        number += 1
        try:
            record = _Reader(game).read(text)
        except UserError as error:
            named = UserError(f"CSA game {number}: {error}")
            if on_error is None:
                raise named from None
            on_error(named)
        else:
            yield record


def write_csa(record: GameRecord, game: Game) -> str:
    """Write one game with its tags, comments and end, and a separator."""
    state = native_state(record.start_state(game))
    lines = ["'CSA encoding=UTF-8", "V2.2"]
    for sign, side in (("+", "Black"), ("-", "White")):
        if name := _one_line(record.tags.get(side, "")):
            lines.append(f"N{sign}{name}")
    for name in _WRITTEN_TAGS:
        if value := _one_line(record.tags.get(_TAGS[name], "")):
            lines.append(f"${name}:{value}")
    lines += format_position(state)
    lines += _comment(record.comments.get(-1, ""))
    for ply, action in enumerate(record.actions.tolist()):
        lines.append(_format_move(state, action))
        lines += _comment(record.comments.get(ply, ""))
        state = state.play(action)
    return "\n".join([*lines, _format_end(record, state), "/", ""])


@dataclass
class _Reader:
    """The state of reading one game."""

    game: Game
    position: CsaPosition = field(default_factory=CsaPosition)
    state: _native.State | None = None
    """None before the line that tells who begins."""
    start: str = ""
    actions: list[int] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)
    end: str = ""

    def read(self, text: str) -> GameRecord:
        for line in text.split("\n"):
            if line[:1] in ("+", "-", "%", "T"):
                for statement in line.split(","):
                    self._read_statement(statement.strip())
            else:
                self._read_line(line.rstrip())
        if self.state is None:
            raise UserError("there is no line + or - that tells who begins")
        result, reason = self._result(self.state)
        return GameRecord(
            game=self.game.spec.identity,
            start=self.start,
            actions=np.array(self.actions, np.int32),
            result=result,
            reason=reason,
            tags=self.tags,
            comments=self.comments,
        )

    def _read_line(self, line: str) -> None:
        if line.startswith("'"):
            if not line.startswith("'CSA encoding="):
                self._add_comment(line[1:].strip())
        elif line.startswith(("N+", "N-")):
            if line[2:].strip():
                self.tags["Black" if line[1] == "+" else "White"] = line[2:].strip()
        elif line.startswith("$"):
            name, _, value = line[1:].partition(":")
            if name in _TAGS and value.strip():
                self.tags[_TAGS[name]] = value.strip()
        elif line.startswith("P"):
            if self.state is not None:
                raise UserError("a position stands after the moves have begun")
            self.position.read(line)
        elif line.strip() and not line.startswith("V"):
            raise UserError(f"'{line[:40]}' is no line of this format")

    def _add_comment(self, text: str) -> None:
        ply = len(self.actions) - 1
        words = [*self.comments.get(ply, "").split(), *text.split()]
        if words:
            self.comments[ply] = " ".join(words)

    def _read_statement(self, text: str) -> None:
        if text in ("+", "-") and self.state is None:
            sfen = self.position.sfen(white_begins=text == "-")
            state = native_state(self.game.parse_state(sfen))
            initial = self.game.format_state(self.game.initial_state())
            self.start = "" if state.sfen == initial else state.sfen
            self.state = state
        elif text.startswith("%"):
            self.end = self.end or text[1:]
        elif text and not text.startswith("T"):
            self._read_move(text)

    def _read_move(self, text: str) -> None:
        if self.state is None:
            raise UserError(f"the move {text[:20]} stands before the line that tells who begins")
        if self.end or self.state.result is not None:
            return
        ply = len(self.actions) + 1
        try:
            self.actions.append(self.state.parse_usi(_usi_of(self.state, text)))
        except UserError as error:
            raise UserError(f"move {ply}, '{text[:20]}': {error}") from None
        self.state = self.state.play(self.actions[-1])

    def _result(self, state: _native.State) -> tuple[float | None, str]:
        if state.result is not None:
            return state.result, state.end_reason
        if self.end in _FOULS:
            return _FOULS[self.end], "illegal action"
        reason, outcome = _ENDS.get(self.end, ("", None))
        if not outcome:
            return outcome, reason
        return (outcome if state.to_play == 0 else -outcome), reason


def _usi_of(state: _native.State, text: str) -> str:
    match = _MOVE.fullmatch(text)
    if match is None:
        raise UserError("not a move; write e.g. +7776FU")
    sign, start, end, name = match.groups()
    if (sign == "+") != (state.to_play == 0):
        raise UserError("the other side is to move")
    if name not in CSA_NAMES or "0" in end:
        raise UserError("not a move; write e.g. +7776FU")
    kind = CSA_NAMES.index(name)
    target = _square(end)
    if start == "00":
        if kind >= KING:
            raise UserError("such a piece is never in hand")
        return f"{LETTERS[kind]}*{target}"
    if "0" in start:
        raise UserError("not a move; write e.g. +7776FU")
    code = state.squares[9 * (int(start[1]) - 1) + 9 - int(start[0])]
    if code == 0 or kind not in (code & 15, (code & 15) + PROMOTED):
        raise UserError(f"no such piece stands on {start}")
    return f"{_square(start)}{target}{'' if kind == code & 15 else '+'}"


def _format_move(state: _native.State, action: int) -> str:
    usi = state.usi(action)
    sign = "+-"[state.to_play]
    target = f"{usi[2]}{_digit(usi[3])}"
    if usi[1] == "*":
        return f"{sign}00{target}{CSA_NAMES[LETTERS.index(usi[0])]}"
    start = f"{usi[0]}{_digit(usi[1])}"
    kind = state.squares[9 * (int(start[1]) - 1) + 9 - int(start[0])] & 15
    return f"{sign}{start}{target}{CSA_NAMES[kind + (PROMOTED if usi.endswith('+') else 0)]}"


def _format_end(record: GameRecord, state: _native.State) -> str:
    """The word that reads back as the record's result."""
    if record.result is None:
        return "%CHUDAN"
    mover_result = record.result if state.sfen.split()[1] == "b" else -record.result
    for name, (reason, outcome) in _ENDS.items():
        if outcome == mover_result and reason == record.reason:
            return f"%{name}"
    if record.result == 0:
        return "%HIKIWAKE"
    if mover_result == -1 and record.reason != "perpetual check":
        return "%TSUMI" if record.reason == "no legal move" else "%TORYO"
    return "%+ILLEGAL_ACTION" if record.result == -1 else "%-ILLEGAL_ACTION"


def _square(text: str) -> str:
    return f"{text[0]}{'abcdefghi'[int(text[1]) - 1]}"


def _digit(rank: str) -> int:
    return "abcdefghi".index(rank) + 1


def _comment(text: str) -> list[str]:
    return [f"'{_one_line(text)}"] if text.strip() else []


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp932", "replace")
