"""Clocks of Go: what the controller says about time, and what one move may take of it.

All times are seconds. Budgets follow the outline of KataGo's time control: an estimate of the moves
that are left, a share of the time for each, less a buffer for lag.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zerogames.engine.clock import TimeBudget
from zerogames_go.gtp.protocol import SyntaxFault, parse_seconds, parse_whole, take_arguments

LAG_S = 0.5
"""Set aside for what happens between our clock and the server's."""
_SHORTEST_S = 0.001
_PERIODS_KEPT = 5
"""Japanese periods beyond these are spent like main time."""
_STRETCH = 1.75
KATA_KINDS = ("none", "absolute", "byoyomi", "canadian", "fischer", "fischer-capped")


@dataclass(frozen=True, kw_only=True)
class TimeSettings:
    """A kind of clock; the same for both players."""

    kind: Literal["none", "absolute", "canadian", "byoyomi", "fischer"] = "none"
    main_s: float = 0.0
    period_s: float = 0.0
    """Seconds of a period of overtime."""
    count: int = 0
    """Moves to play in each period (Canadian), or number of periods (Japanese)."""
    increment_s: float = 0.0
    """Added after each move (Fischer)."""
    limit_s: float = math.inf
    """No clock shows more (Fischer)."""
    max_move_s: float = math.inf
    """A move may not take longer (Fischer)."""

    def start(self) -> "TimeLeft":
        """What a clock shows when the game begins."""
        if self.main_s <= 0 and self.kind in ("canadian", "byoyomi"):
            return TimeLeft(self.period_s, self.count)
        return TimeLeft(self.main_s, 0)


@dataclass(frozen=True)
class TimeLeft:
    """What a player's clock shows."""

    time_s: float
    """Seconds of main time, or of the period."""
    stones: int = 0
    """0 in main time; else moves (Canadian) or periods (Japanese) that are left."""


def parse_time_settings(arguments: Sequence[str]) -> TimeSettings:
    """GTP's own: main time, byo-yomi time, byo-yomi stones."""
    main, period, stones = take_arguments(arguments, 3, 3)
    main_s, period_s = parse_seconds(main), parse_seconds(period)
    count = parse_whole(stones, low=0, high=10**9)
    if period_s > 0 and count == 0:
        return TimeSettings()
    if period_s == 0:
        return TimeSettings(kind="absolute", main_s=main_s)
    return TimeSettings(kind="canadian", main_s=main_s, period_s=period_s, count=count)


def parse_kata_time_settings(arguments: Sequence[str]) -> TimeSettings:
    """A kind by name with its numbers: those of `kgs-time_settings`, and Fischer's clocks."""
    kind, *numbers = take_arguments(arguments, 1)
    match kind.lower():
        case "none":
            return TimeSettings()
        case "absolute":
            (main,) = take_arguments(numbers, 1, 1)
            return TimeSettings(kind="absolute", main_s=parse_seconds(main))
        case "canadian" | "byoyomi" as overtime:
            main, period, count = take_arguments(numbers, 3, 3)
            return TimeSettings(
                kind="canadian" if overtime == "canadian" else "byoyomi",
                main_s=parse_seconds(main),
                period_s=parse_seconds(period),
                count=parse_whole(count, low=1, high=10**9),
            )
        case "fischer":
            main, increment = take_arguments(numbers, 2, 2)
            return TimeSettings(
                kind="fischer", main_s=parse_seconds(main), increment_s=parse_seconds(increment)
            )
        case "fischer-capped":
            main, increment, limit, most = take_arguments(numbers, 4, 4)
            return TimeSettings(
                kind="fischer",
                main_s=parse_seconds(main),
                increment_s=parse_seconds(increment),
                limit_s=_or_none(limit),
                max_move_s=_or_none(most),
            )
    raise SyntaxFault(f"unknown time system '{kind[:20]}'; known: {', '.join(KATA_KINDS)}")


def _or_none(text: str) -> float:
    """KataGo writes a negative number for no limit."""
    return math.inf if text.startswith("-") else parse_seconds(text)


def parse_time_left(settings: TimeSettings, arguments: Sequence[str]) -> TimeLeft:
    """What `time_left` says behind the colour."""
    time, stones = take_arguments(arguments, 2, 2)
    left = parse_whole(stones, low=0, high=10**9)
    if settings.kind in ("absolute", "fischer", "none"):
        left = 0
    return TimeLeft(parse_seconds(time), left)


def moves_left(area: int, stones: int, *, with_increment: bool = False) -> float:
    """Estimate the own moves still to come with this many stones on the board."""
    if with_increment:
        return max(0.75 * area + 15 - stones, 0.10 * area + 20) / 2
    return max(0.95 * area + 20 - stones, 0.15 * area + 30) / 2


def move_budget(
    settings: TimeSettings, left: TimeLeft, *, area: int, stones: int, lag_s: float = LAG_S
) -> TimeBudget | None:
    """What the next move may take; None without a clock.

    Args:
        settings: The kind of clock.
        left: What it shows.
        area: Points of the board.
        stones: Stones on it.
        lag_s: Buffer for lag.
    """
    match settings.kind:
        case "none":
            return None
        case "absolute":
            usable = _less_lag(left.time_s, 2 * lag_s)
            return _bounded(usable / moves_left(area, stones), usable / 5, usable)
        case "fischer":
            usable = min(_less_lag(left.time_s, 2 * lag_s), settings.max_move_s - lag_s)
            increment = min(settings.increment_s, usable)
            excess = usable - increment
            moves = moves_left(area, stones, with_increment=True)
            return _bounded(increment + excess / moves, increment + excess / 5, usable)
        case "canadian":
            if left.stones > 0:
                # Running out of a Canadian period always loses.
                share = _less_lag(left.time_s, 2 * lag_s) / left.stones
                return _bounded(share, share, share)
            per_move = settings.period_s / settings.count
            return _main_time_budget(left.time_s, per_move, area=area, stones=stones, lag_s=lag_s)
        case "byoyomi":
            return _byoyomi_budget(settings, left, area=area, stones=stones, lag_s=lag_s)


def _byoyomi_budget(
    settings: TimeSettings, left: TimeLeft, *, area: int, stones: int, lag_s: float
) -> TimeBudget:
    periods = left.stones or settings.count
    spare = max(0, periods - _PERIODS_KEPT) * settings.period_s
    if left.stones == 0:
        time_s = left.time_s + spare
        return _main_time_budget(time_s, settings.period_s, area=area, stones=stones, lag_s=lag_s)
    if spare > 0:
        usable = _less_lag(left.time_s, lag_s) + spare
        turns = max(1.0, moves_left(area, stones))
        soft = max(_less_lag(left.time_s, lag_s), usable / turns)
        return _bounded(soft, max(soft, usable / 5), usable)
    period = _less_lag(left.time_s, 2 * lag_s if periods <= 1 else lag_s)
    return TimeBudget(period, period, use_all=True)


def _main_time_budget(
    main_s: float, per_move_s: float, *, area: int, stones: int, lag_s: float
) -> TimeBudget:
    """Main time with overtime behind it, which gives each move `per_move_s` for ever."""
    overtime = _less_lag(per_move_s, lag_s)
    turns = main_s / max(per_move_s, _SHORTEST_S) / math.e
    turns = max(1.0, min(max(turns, moves_left(area, stones)), _STRETCH * turns))
    soft = max(overtime, main_s / turns)
    most = main_s + overtime
    return _bounded(soft, max(soft, overtime + main_s / 5), most)


def _less_lag(time_s: float, lag_s: float) -> float:
    """Time less the buffer; of very little time, half."""
    if time_s > 2 * lag_s:
        return time_s - lag_s
    return max(_SHORTEST_S, time_s / 2)


def _bounded(soft: float, hard: float, most: float) -> TimeBudget:
    most = max(_SHORTEST_S, most)
    soft = min(max(_SHORTEST_S, soft), most)
    return TimeBudget(soft, min(max(soft, hard), most))


def after_move(settings: TimeSettings, left: TimeLeft, elapsed_s: float) -> TimeLeft:
    """What the clock shows after a move, for controllers that do not send `time_left`."""
    elapsed_s = max(0.0, elapsed_s)
    match settings.kind:
        case "none":
            return left
        case "absolute":
            return TimeLeft(max(0.0, left.time_s - elapsed_s))
        case "fischer":
            time_s = max(0.0, left.time_s - elapsed_s) + settings.increment_s
            return TimeLeft(min(time_s, settings.limit_s))
        case "canadian" | "byoyomi":
            if left.stones == 0:
                if elapsed_s < left.time_s:
                    return replace(left, time_s=left.time_s - elapsed_s)
                elapsed_s -= left.time_s
                left = TimeLeft(settings.period_s, settings.count)
            if settings.kind == "byoyomi":
                used = int(elapsed_s / settings.period_s) if settings.period_s > 0 else 0
                return TimeLeft(settings.period_s, max(1, left.stones - used))
            if left.stones <= 1:
                return TimeLeft(settings.period_s, settings.count)
            return TimeLeft(max(0.0, left.time_s - elapsed_s), left.stones - 1)
