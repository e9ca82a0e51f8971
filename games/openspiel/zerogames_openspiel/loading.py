"""Loads games of OpenSpiel, and refuses those that are of another kind than ours."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pyspiel

from zerogames.errors import UserError, unknown_name
from zerogames.identity import split_options

_MAX_SIZE = 1 << 20
"""Actions and numbers of an observation; more is a slip of the pen, and would fill the memory."""


def list_games() -> Mapping[str, str]:
    """Return the games that the bridge plays, with their parameters as `name=default, ...`."""
    return {
        kind.short_name: ", ".join(
            f"{name}={default}" for name, default in sorted(kind.parameter_specification.items())
        )
        for kind in pyspiel.registered_games()
        if kind.default_loadable and not _refusal(kind)
    }


def load_game(text: str) -> tuple[str, pyspiel.Game]:
    """Load `name(parameter=value,...)`; return it as it is written shortest, and the game.

    Raises:
        UserError: with the reason, if there is no such game or it is not of the kind that is
            played here: two players who move in turn, see everything, and win what the other loses.
    """
    kind, _ = _parse(text)
    game = _call(text, lambda: pyspiel.load_game(text))
    reason = _refusal(game.get_type())  # a transformed game has the type of what is in it
    if reason:
        raise UserError(f"OpenSpiel's {kind.short_name} {reason}, which is not played here")
    _check_sizes(text, game)
    start = _call(text, game.new_initial_state)
    if game.num_players() != 2:
        raise UserError(f"'{text}' has {game.num_players()} players; two are played here")
    if start.is_chance_node():
        raise UserError(f"'{text}' begins with chance, which is not played here")
    if start.is_terminal() or not start.legal_actions():
        raise UserError(f"'{text}' is over before its first move")
    defaults, given = kind.parameter_specification, _parse(str(game))[1]
    kept = [f"{key}={value}" for key, value in given.items() if str(defaults[key]) != value]
    return (f"{kind.short_name}({','.join(kept)})" if kept else kind.short_name), game


def _call(text: str, make: Callable[[], Any]) -> Any:
    """Call OpenSpiel; what it throws becomes one line."""
    try:
        return make()
    except (RuntimeError, ValueError, IndexError, MemoryError) as error:
        raise UserError(f"OpenSpiel refuses '{text}': {' '.join(str(error).split())}") from None


def _parse(text: str) -> tuple[pyspiel.GameType, dict[str, str]]:
    """Read the name and the parameters; OpenSpiel would print its complaints as well."""
    name, bracket, rest = text.strip().partition("(")
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if name not in kinds:
        raise unknown_name("game of OpenSpiel", name, list_games())
    if bracket and not rest.endswith(")"):
        raise UserError(f"'{text}' does not end with its bracket; write {name}(parameter=value)")
    inner = rest[:-1]
    given = split_options(inner, f"{name}(parameter=value)") if inner else {}
    for key in given:
        if key not in kinds[name].parameter_specification:
            raise unknown_name(f"parameter of {name}", key, kinds[name].parameter_specification)
    return kinds[name], given


def _refusal(kind: pyspiel.GameType) -> str:
    """The reason for which games of this kind are not played, or nothing."""
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        return "lets players move at the same time"
    if kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC:
        return "has chance"
    if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
        return "hides something from a player"
    if kind.utility != pyspiel.GameType.Utility.ZERO_SUM:
        return "is not zero-sum"
    if not kind.min_num_players <= 2 <= kind.max_num_players:
        return "is not for two players"
    if not kind.provides_observation_tensor:
        return "has no observation tensor"
    return ""


def _check_sizes(text: str, game: pyspiel.Game) -> None:
    """Refuse boards that OpenSpiel makes without a word and then crashes on."""
    shape, num_actions = game.observation_tensor_shape(), game.num_distinct_actions()
    if len(shape) > 3:
        raise UserError(f"'{text}' observes a tensor of {len(shape)} axes; up to 3 make planes")
    if min([*shape, num_actions]) < 1 or max(math.prod(shape), num_actions) > _MAX_SIZE:
        raise UserError(f"'{text}' has {num_actions} actions and observes {shape} numbers")
