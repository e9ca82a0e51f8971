"""Finds the compiled search of a game: its own, or the one that calls back into Python rules."""

import warnings
from functools import cache
from typing import TYPE_CHECKING, cast

from zerogames.errors import PythonRulesWarning
from zerogames.game import Game, State
from zerogames.search import _search

if TYPE_CHECKING:
    from zerogames.native_state import BoundGame


def bound_game(game: Game, state: State) -> "BoundGame":
    """`state` as the compiled search takes it: itself if native, else wrapped."""
    if hasattr(type(state), "Search"):
        return cast("BoundGame", state)
    if not game.spec.in_python:
        _warn(game.spec.name)
    return _search.PythonGame(state, game.spec.action_size)


@cache
def _warn(name: str) -> None:
    """Once per game and process."""
    warnings.warn(
        f"the rules of '{name}' are in Python: every move of a search calls them with the GIL "
        "held, which is 20 to 100 times slower than native rules. If they are native, call "
        "zerogames::bind_play(state) after bind_state (docs/adding_a_game.md); if Python is "
        "meant, set in_python=True in the game's GameSpec",
        PythonRulesWarning,
        stacklevel=4,
    )
