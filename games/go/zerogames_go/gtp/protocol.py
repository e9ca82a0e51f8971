"""Lines of the Go Text Protocol: what a request is and how it is answered."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from zerogames.errors import UserError
from zerogames.game import State
from zerogames_go.go import Go

VERSION = "2"
BLACK, WHITE = 0, 1
COLOUR_LETTERS = "BW"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ID = re.compile(r"[0-9]{1,10}", re.ASCII)
_FLOAT = re.compile(
    r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(e[+-]?[0-9]{1,3})?", re.I | re.A
)
_LONGEST_ECHO = 40
MAX_LINE = 1 << 20
"""Characters; what stands behind them in a line is not read."""


class SyntaxFault(UserError):
    """Arguments that cannot be read; answered with `syntax error`."""


@dataclass(frozen=True)
class Request:
    """One command."""

    id: str
    """The number of the command as it was written; empty without one."""
    name: str
    arguments: Sequence[str]


def parse_request(line: str) -> Request | None:
    """Read a line as the protocol says; None for one without a command."""
    text = _CONTROL.sub("", line[:MAX_LINE]).partition("#")[0].replace("\t", " ")
    words = text.split()
    if not words:
        return None
    number = words.pop(0) if _ID.fullmatch(words[0]) else ""
    if not words:
        return Request(number, "", ())
    return Request(number, words[0], tuple(words[1:]))


def format_answer(request: Request, text: str, *, failed: bool = False) -> str:
    """An answer with its end; empty lines inside would end it too early and are left out."""
    lines = [line.rstrip() for line in text.splitlines()]
    first, *rest = lines or [""]
    body = "\n".join([first, *(line for line in rest if line)])
    mark = "?" if failed else "="
    gap = " " if first else ""
    return f"{mark}{request.id}{gap}{body}\n\n"


def parse_colour(text: str) -> int:
    """0 for `b` and `black`, 1 for `w` and `white`, in any case."""
    match text.lower():
        case "b" | "black":
            return BLACK
        case "w" | "white":
            return WHITE
    raise SyntaxFault(f"'{text[:_LONGEST_ECHO]}' is not a colour; write black or white")


def is_colour(text: str) -> bool:
    """Whether `parse_colour` reads it."""
    return text.lower() in ("b", "black", "w", "white")


def parse_vertex(game: Go, text: str) -> int:
    """A point of the board or pass, legal or not."""
    try:
        return game.parse_point(text)
    except UserError:
        raise SyntaxFault(f"invalid vertex '{text[:_LONGEST_ECHO]}'") from None


def format_vertices(game: Go, state: State, actions: Sequence[int]) -> str:
    """Points separated by blanks."""
    return " ".join(game.format_action(state, action) for action in actions)


def parse_whole(text: str, *, low: int, high: int) -> int:
    """A whole number within limits."""
    if not re.fullmatch(r"[+-]?[0-9]{1,12}", text, re.ASCII) or not low <= int(text) <= high:
        raise SyntaxFault(f"'{text[:_LONGEST_ECHO]}' is not a whole number from {low} to {high}")
    return int(text)


def parse_seconds(text: str) -> float:
    """A time, not negative, at most a year; below a millisecond it counts as none."""
    seconds = min(parse_float(text), 3.2e7)
    return seconds if seconds >= 0.001 else 0.0


def parse_float(text: str) -> float:
    """Any finite number."""
    number = float(text) if _FLOAT.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise SyntaxFault(f"'{text[:_LONGEST_ECHO]}' is not a number")
    return number


def take_arguments(arguments: Sequence[str], least: int, most: int | None = None) -> Sequence[str]:
    """The arguments if there are as many as there must be; more than needed are passed over."""
    if len(arguments) < least:
        raise SyntaxFault(f"{least} arguments are needed, here are {len(arguments)}")
    return arguments if most is None else arguments[:most]
