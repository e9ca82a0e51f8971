"""Mistakes a user can make and mend, and what they are warned of."""

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class UserError(ValueError):
    """A wrong name, option, position, move or file: one line that says what and how to mend it."""


class PythonRulesWarning(UserWarning):
    """A game is searched by way of Python rules and does not say that it means to be."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Build the error for `name`, with the nearest of the `known` names first."""
    names = sorted(known)
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return UserError(f"unknown {kind} '{name}'; {hint}known: {', '.join(names) or 'none'}")


def first_problem(error: "ValidationError", *, whole: str = "") -> str:
    """Say where the first refused value is (in the `whole`, if nowhere else), and what is wrong."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or whole
    return f"{where}: {first['msg'].removeprefix('Value error, ')}"
