"""Queries of KataGo's JSON protocol for analysis, as KaTrain sends them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zerogames.errors import UserError
from zerogames_go.gtp.played_game import GtpGame
from zerogames_go.gtp.protocol import BLACK, parse_colour, parse_vertex
from zerogames_go.gtp.rule_names import parse_rules
from zerogames_go.options import GoOptions

View = Literal["BLACK", "WHITE", "SIDETOMOVE"]
_VIEWS: tuple[View, ...] = ("BLACK", "WHITE", "SIDETOMOVE")
_MOST_TURNS = 2000


class QueryFault(UserError):
    """A wrong field of a query."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class Query:
    """Positions of one game to be analysed."""

    id: str
    games: Mapping[int, GtpGame]
    """The positions that are asked for, by the number of moves played."""
    max_visits: int | None
    max_time_s: float | None
    view: View
    """Whose win rates and points are reported."""
    ownership: bool
    policy: bool
    report_every_s: float | None
    """Also say what is known while the search runs."""
    avoid: Mapping[int, frozenset[int]]
    """Moves that are not searched, by colour."""
    allow: Mapping[int, frozenset[int]]
    """The only moves that are searched, by colour."""
    priority: int


def parse_query(given: Mapping[str, Any], options: GoOptions) -> Query:
    """Read a query; komi and rules are those of `options` where it says none."""
    override = given.get("overrideSettings") or {}
    if not isinstance(override, dict):
        raise QueryFault("overrideSettings", "must be an object")
    view = override.get("reportAnalysisWinratesAs", "BLACK")
    if view not in _VIEWS:
        raise QueryFault("overrideSettings", f"reportAnalysisWinratesAs is one of {_VIEWS}")
    played = _start(given, options)
    visits = given.get("maxVisits", override.get("maxVisits"))
    return Query(
        id=given["id"],
        max_visits=None if visits is None else int(_number({"maxVisits": visits}, "maxVisits", 1)),
        max_time_s=_number(override, "maxTime", 0.001) if "maxTime" in override else None,
        view=view,
        ownership=bool(given.get("includeOwnership", False)),
        policy=bool(given.get("includePolicy", False)),
        report_every_s=(
            _number(given, "reportDuringSearchEvery", 0.01)
            if "reportDuringSearchEvery" in given
            else None
        ),
        avoid=_restrictions(given, "avoidMoves", played),
        allow=_restrictions(given, "allowMoves", played),
        priority=int(_number(given, "priority", -(2**31))) if "priority" in given else 0,
        games=_turns(given, played),
    )


def _start(given: Mapping[str, Any], options: GoOptions) -> GtpGame:
    """The position before the first move."""
    sizes = [_number(given, field, 2, 25) for field in ("boardXSize", "boardYSize")]
    if sizes[0] != sizes[1] or not sizes[0].is_integer():
        raise QueryFault("boardYSize", "boards are square here")
    rules = given.get("rules", "tromp-taylor")
    try:
        parsed = parse_rules(rules if isinstance(rules, str) else _dump(rules))
    except UserError as error:
        raise QueryFault("rules", str(error)) from None
    komi = _number(given, "komi", -1000, 1000) if "komi" in given else options.komi
    played = GtpGame(GoOptions(size=int(sizes[0]), komi=komi, **parsed))
    stones: tuple[list[int], list[int]] = ([], [])
    for colour, point in _pairs(given, "initialStones", played):
        stones[colour].append(point)
    first = BLACK
    if "initialPlayer" in given:
        first = _colour(given["initialPlayer"], "initialPlayer")
    try:
        played.set_up(*stones, to_play=first)
    except UserError as error:
        raise QueryFault("initialStones", str(error)) from None
    return played


def _turns(given: Mapping[str, Any], played: GtpGame) -> dict[int, GtpGame]:
    moves = _pairs(given, "moves", played)
    turns = given.get("analyzeTurns", [len(moves)])
    whole = isinstance(turns, list) and all(isinstance(turn, int) for turn in turns)
    if not whole or not all(0 <= turn <= len(moves) for turn in turns):
        raise QueryFault("analyzeTurns", f"must be numbers from 0 to {len(moves)}")
    if len(turns) > _MOST_TURNS:
        raise QueryFault("analyzeTurns", f"at most {_MOST_TURNS} turns")
    games = {}
    for turn in range(len(moves) + 1):
        if turn in turns:
            games[turn] = played.copy()
        if turn < len(moves):
            colour, action = moves[turn]
            try:
                played.play(colour, action)
            except UserError:
                vertex = played.game.format_action(played.state, action)
                raise QueryFault("moves", f"Illegal move {turn}: {vertex}") from None
    return games


def _restrictions(
    given: Mapping[str, Any], field: str, played: GtpGame
) -> dict[int, frozenset[int]]:
    found: dict[int, frozenset[int]] = {}
    items = given.get(field, [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise QueryFault(field, "must be a list of objects")
    for item in items:
        colour = _colour(item.get("player"), field)
        points = item.get("moves", [])
        if not isinstance(points, list):
            raise QueryFault(field, "moves must be a list")
        found[colour] = found.get(colour, frozenset()) | {
            _vertex(played, point, field) for point in points
        }
    return found


def _pairs(given: Mapping[str, Any], field: str, played: GtpGame) -> list[tuple[int, int]]:
    items = given.get(field, [])
    if not isinstance(items, list):
        raise QueryFault(field, "must be a list of [player, point]")
    found = []
    for item in items:
        if not isinstance(item, list) or len(item) != 2:
            raise QueryFault(field, "must be a list of [player, point]")
        found.append((_colour(item[0], field), _vertex(played, item[1], field)))
    return found


def _colour(value: object, field: str) -> int:
    try:
        return parse_colour(str(value))
    except UserError as error:
        raise QueryFault(field, str(error)) from None


def _vertex(played: GtpGame, value: object, field: str) -> int:
    try:
        return parse_vertex(played.game, str(value))
    except UserError as error:
        raise QueryFault(field, str(error)) from None


def _number(
    given: Mapping[str, Any], field: str, low: float = -math.inf, high: float = 1e9
) -> float:
    value = given.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise QueryFault(field, f"must be a number from {low:g} to {high:g}")
    return float(value)


def _dump(rules: object) -> str:
    return json.dumps(rules) if isinstance(rules, dict) else str(rules)
