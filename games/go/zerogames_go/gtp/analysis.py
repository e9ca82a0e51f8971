"""Live analysis as Leela Zero and KataGo print it, for Sabaki, Lizzie and others."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zerogames.engine import MoveThought, Thought
from zerogames_go import _native
from zerogames_go.go import Go
from zerogames_go.gtp.net_view import NetView
from zerogames_go.gtp.protocol import (
    SyntaxFault,
    is_colour,
    parse_colour,
    parse_float,
    parse_vertex,
    parse_whole,
)
from zerogames_go.status import estimate_status

DEFAULT_INTERVAL_S = 1.0
_SHORTEST_INTERVAL_S = 0.01
_MOST_MOVES = 30
_CONFIDENCE = 1.96


@dataclass(frozen=True, kw_only=True)
class AnalysisRequest:
    """What is to be printed, and how often."""

    colour: int
    interval_s: float = DEFAULT_INTERVAL_S
    min_moves: int = 1
    max_moves: int = _MOST_MOVES
    ownership: bool = False
    """KataGo's form only."""
    root_info: bool = False
    """KataGo's form only."""
    allowed: frozenset[int] | None = None
    """Root moves to look at."""


def parse_analysis(game: Go, arguments: Sequence[str], *, to_play: int) -> AnalysisRequest:
    """Read `[colour] [interval] [key value]...`, intervals in hundredths of a second."""
    words = list(arguments)
    colour, interval_s = to_play, DEFAULT_INTERVAL_S
    if words and is_colour(words[0]):
        colour = parse_colour(words.pop(0))
    if words and words[0][:1].isdecimal():
        interval_s = _interval(words.pop(0))
    settings: dict[str, int | bool] = {}
    allowed: set[int] | None = None
    while words:
        key = words.pop(0).lower()
        if key in ("allow", "avoid"):
            who, points = _take_restriction(game, words)
            if who == colour:
                everything = set(range(game.size * game.size + 1))
                chosen = points if key == "allow" else everything - points
                allowed = chosen if allowed is None else allowed & chosen
            continue
        if not words:
            raise SyntaxFault(f"'{key[:20]}' needs a value")
        value = words.pop(0)
        match key:
            case "interval":
                interval_s = _interval(value)
            case "minmoves":
                settings["min_moves"] = parse_whole(value, low=0, high=10_000)
            case "maxmoves":
                settings["max_moves"] = parse_whole(value, low=0, high=10_000)
            case "ownership":
                settings["ownership"] = value.lower() == "true"
            case "rootinfo":
                settings["root_info"] = value.lower() == "true"
            case "movesownership" | "ownershipstdev" | "pvvisits" | "pvedgevisits":
                pass  # KataGo's; nothing here has them
            case _:
                raise SyntaxFault(f"unknown key '{key[:20]}'")
    return AnalysisRequest(
        colour=colour,
        interval_s=interval_s,
        allowed=None if allowed is None else frozenset(allowed),
        **settings,  # type: ignore[arg-type]
    )


def _interval(text: str) -> float:
    return max(_SHORTEST_INTERVAL_S, min(parse_float(text) / 100, 3600.0))


def _take_restriction(game: Go, words: list[str]) -> tuple[int, set[int]]:
    """`COLOUR POINT,POINT,... DEPTH`; it holds at the root only, whatever the depth."""
    if len(words) < 3:
        raise SyntaxFault("write a colour, points with commas between them, and a depth")
    colour, points, depth = words[:3]
    del words[:3]
    parse_whole(depth, low=1, high=10**6)
    vertices = {parse_vertex(game, text) for text in points.split(",")}
    return parse_colour(colour), vertices


class AnalysisPrinter:
    """Turns thoughts into lines of one of the two forms."""

    def __init__(
        self,
        game: Go,
        state: _native.Go,
        request: AnalysisRequest,
        *,
        kata: bool,
        view: Callable[[], NetView | None] = lambda: None,
    ) -> None:
        """Print what is known of a position; KataGo's form asks for the net's view of it."""
        self._game, self._state = game, state
        self._view = view if kata else lambda: None
        self._request = request
        self._format: Callable[[MoveThought, int], str] = (
            self._format_kata if kata else self._format_leela
        )
        self._tail = self._kata_tail if kata else _no_tail
        self._owned = ""

    def line(self, thought: Thought) -> str:
        """All moves on one line, the best first."""
        visited = sum(move.visits > 0 for move in thought.moves)
        count = min(max(visited, self._request.min_moves, 1), self._request.max_moves or 1)
        moves = thought.moves[:count]
        view = self._view()
        if view is not None:
            view.look_at([move.action for move in moves])
        parts = [self._format(move, order) for order, move in enumerate(moves)]
        return " ".join([*parts, *self._tail(thought)])

    def _format_leela(self, move: MoveThought, order: int) -> str:
        rate = win_rate(move.value)
        return (
            f"info move {self._vertex(move.action)} visits {move.visits} "
            f"winrate {_ten_thousandths(rate)} prior {_ten_thousandths(move.prior)} "
            f"lcb {_ten_thousandths(lower_bound(rate, move.visits))} "
            f"order {order} pv {self._line(move)}"
        )

    def _format_kata(self, move: MoveThought, order: int) -> str:
        rate = win_rate(move.value)
        lcb = lower_bound(rate, move.visits)
        return (
            f"info move {self._vertex(move.action)} visits {move.visits} "
            f"utility {move.value:.6f} winrate {rate:.6f} prior {move.prior:.6f} "
            f"lcb {lcb:.6f} utilityLcb {2 * lcb - 1:.6f} weight {move.visits} "
            f"{self._points(move.action)}order {order} pv {self._line(move)}"
        )

    def _points(self, action: int | None = None) -> str:
        """What the net says of points, behind a move or here."""
        view = self._view()
        if view is None:
            return ""
        points = view.points if action is None else view.after(action)
        return (
            f"scoreLead {points.lead:.3f} scoreMean {points.lead:.3f} "
            f"scoreSelfplay {points.score:.3f} "
        )

    def _kata_tail(self, thought: Thought) -> list[str]:
        parts = []
        if self._request.root_info:
            parts.append(
                f"rootInfo visits {thought.nodes} utility {thought.value:.6f} "
                f"{self._points()}winrate {win_rate(thought.value):.6f}"
            )
        if self._request.ownership:
            parts.append(self._ownership())
        return parts

    def _ownership(self) -> str:
        """Return the owners from the top left, in the view of the side to move, found once."""
        if not self._owned:
            view = self._view()
            if view is None:
                sign = 1 if self._state.to_play == 0 else -1
                owners = sign * estimate_status(self._state).ownership
            else:
                owners = view.ownership
            numbers = " ".join(f"{owner:.3f}" for row in owners[::-1] for owner in row)
            self._owned = f"ownership {numbers}"
        return self._owned

    def _vertex(self, action: int) -> str:
        return self._game.format_action(self._state, action)

    def _line(self, move: MoveThought) -> str:
        return " ".join(self._vertex(action) for action in move.line)


def _no_tail(_: Thought) -> list[str]:
    return []


def win_rate(value: float) -> float:
    """Return the win rate of win minus loss."""
    return min(1.0, max(0.0, (1 + value) / 2))


def lower_bound(rate: float, visits: int) -> float:
    """A lower confidence bound of a win rate, as if each visit were the result of a game."""
    if visits == 0:
        return 0.0
    return max(0.0, rate - _CONFIDENCE * math.sqrt(max(rate * (1 - rate), 0.25 / visits) / visits))


def _ten_thousandths(share: float) -> int:
    return round(10_000 * min(1.0, max(0.0, share)))
