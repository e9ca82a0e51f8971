"""The arguments of `go`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from zerogames.protocol.options import parse_integer

_NUMBERS = (
    "wtime",
    "btime",
    "winc",
    "binc",
    "byoyomi",
    "movestogo",
    "movetime",
    "nodes",
    "depth",
    "mate",
    "perft",
)
_FLAGS = ("infinite", "ponder")
_WORDS = frozenset([*_NUMBERS, *_FLAGS, "searchmoves"])
MAX_LIMITS = {"depth": 1000, "mate": 500}
"""Larger numbers mean the same; nodes and times are bounded where they are counted."""


@dataclass(frozen=True, kw_only=True)
class GoLimits:
    """The limits as written; times in milliseconds."""

    numbers: dict[str, int] = field(default_factory=dict)
    infinite: bool = False
    ponder: bool = False
    moves: tuple[str, ...] = ()
    """The moves after `searchmoves`."""
    problems: tuple[str, ...] = ()
    """Messages about arguments that could not be read."""

    @classmethod
    def parse(cls, words: Sequence[str]) -> "GoLimits":
        """Read the words; the last of two equal ones counts."""
        numbers: dict[str, int] = {}
        flags: set[str] = set()
        moves: list[str] = []
        problems: list[str] = []
        index = 0
        while index < len(words):
            word = words[index]
            index += 1
            if word in _FLAGS:
                flags.add(word)
            elif word == "searchmoves":
                while index < len(words) and words[index] not in _WORDS:
                    moves.append(words[index])
                    index += 1
            elif word in _NUMBERS:
                text = words[index] if index < len(words) else ""
                number = _clamped(text)
                if number is None:
                    problems.append(f"go {word}: '{text[:20]}' is not a number")
                else:
                    numbers[word] = number
                if text not in _WORDS:
                    index += 1
            else:
                problems.append(f"go: '{word[:20]}' is unknown")
        return cls(
            numbers=numbers,
            infinite="infinite" in flags,
            ponder="ponder" in flags,
            moves=tuple(moves),
            problems=tuple(problems),
        )

    def bounded(self, name: str) -> int | None:
        """Return a limit if it was given, at least 1 and at most that of `MAX_LIMITS`."""
        number = self.numbers.get(name)
        return None if number is None else max(1, min(number, MAX_LIMITS.get(name, number)))


def _clamped(text: str) -> int | None:
    """A whole number, of any length: what is beyond those of `parse_integer` is cut to them."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    is_whole = digits.isascii() and digits.isdigit()
    return parse_integer(text[:30] if is_whole else text)
