"""KataGo's JSON protocol for analysis: one query or answer on each line.

Queries wait in the order of their priority and are answered one after another; new ones may come,
and running ones be ended, at any time.
"""

import heapq
import json
import math
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, BinaryIO, TextIO

from zerogames.engine import MoveThought, ThinkLimits, Thought
from zerogames.engine.fallback import one_line
from zerogames.errors import UserError
from zerogames.runs.signals import hold_back_ctrl_c
from zerogames.version import __version__
from zerogames_go.gtp.analysis import lower_bound, win_rate
from zerogames_go.gtp.json_query import Query, QueryFault, parse_query
from zerogames_go.gtp.net_view import NetView, Points
from zerogames_go.gtp.played_game import GtpGame
from zerogames_go.gtp.player import GoPlayer, Watcher
from zerogames_go.gtp.protocol import BLACK
from zerogames_go.gtp.session import read_lines
from zerogames_go.gtp.settings import DEFAULT_NODES
from zerogames_go.options import GoOptions
from zerogames_go.status import estimate_status

_POINTS_PER_LOGIT = 5.0
_LARGEST_LEAD = 50.0
_MOST_MOVES = 60
_MOST_WAITING = 10_000
"""Queries beyond are refused, as each keeps its positions."""


def _refuse(_: str) -> float:
    """NaN and infinity are no JSON, and no answer may repeat them."""
    raise ValueError("no finite number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def points_from_win_rate(rate: float) -> float:
    """A lead that stands for a win rate, for readers that count in points.

    Nets here predict no score. Five points for each factor e of the odds is about what strong
    programs see in the middle of a game; losses by moves come out in the order of win rates.
    """
    rate = min(max(rate, 1e-9), 1 - 1e-9)
    lead = _POINTS_PER_LOGIT * math.log(rate / (1 - rate))
    return min(max(lead, -_LARGEST_LEAD), _LARGEST_LEAD)


class JsonSession:
    """Reads queries in this thread, answers them in another."""

    def __init__(self, player: GoPlayer, options: GoOptions, *, output: TextIO) -> None:
        self._player, self._options, self._output = player, options, output
        self._waiting: list[tuple[int, int, Query]] = []
        self._count = 0
        self._changed = threading.Condition()
        self._ended = False
        self._running = ""
        self._stop = threading.Event()

    def run(self, lines: BinaryIO) -> None:
        """Answer until the input ends and all queries are answered."""
        worker = threading.Thread(target=self._work, name="analysis")
        try:
            with hold_back_ctrl_c():
                worker.start()
            for line in read_lines(lines):
                if line.strip():
                    self.take(line)
        except BaseException:
            with self._changed:
                self._waiting.clear()
            self._stop.set()
            raise
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify()
            worker.join()

    def take(self, line: str) -> None:
        """Take one line: a query is put with the waiting ones, an action done at once."""
        try:
            given = json.loads(line, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError):
            self._say({"error": "this line is no JSON"})
            return
        if not isinstance(given, dict) or not isinstance(given.get("id"), str):
            self._say({"error": "a query is an object with an id, a string"})
            return
        try:
            if "action" in given:
                self._act(given)
            else:
                self._add(parse_query(given, self._options))
        except QueryFault as fault:
            self._say({"id": given["id"], "error": str(fault), "field": fault.field})
        except UserError as error:
            self._say({"id": given["id"], "error": str(error)})
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self._say({"id": given["id"], "error": f"internal error: {one_line(error)}"})

    def _add(self, query: Query) -> None:
        with self._changed:
            if len(self._waiting) >= _MOST_WAITING:
                raise UserError(f"{_MOST_WAITING} queries wait; this one is not taken")
            self._count += 1
            heapq.heappush(self._waiting, (-query.priority, self._count, query))
            self._changed.notify()

    def _act(self, given: Mapping[str, Any]) -> None:
        match given["action"]:
            case "query_version":
                self._say({**given, "version": __version__, "git_hash": "<omitted>"})
            case "clear_cache":
                self._say(given)  # nothing that an answer would depend on is kept
            case "terminate" | "terminate_all" as action:
                wanted = given.get("terminateId") if action == "terminate" else None
                self._terminate(wanted)
                self._say(given)
            case _:
                raise QueryFault("action", f"unknown action {str(given['action'])[:40]!r}")

    def _terminate(self, wanted: object) -> None:
        """End a query, or all: those that wait have no result, one that runs ends early."""
        with self._changed:
            ended = [one for one in self._waiting if wanted is None or one[2].id == wanted]
            self._waiting = [one for one in self._waiting if one not in ended]
            heapq.heapify(self._waiting)
            if self._running and (wanted is None or self._running == wanted):
                self._stop.set()
        for _, _, query in ended:
            for turn in query.games:
                self._say_no_result(query, turn)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ended:
                    self._changed.wait()
                if not self._waiting:
                    return
                query = heapq.heappop(self._waiting)[2]
                self._running = query.id
                self._stop.clear()
            try:
                for turn, played in query.games.items():
                    if self._stop.is_set():
                        self._say_no_result(query, turn)
                    else:
                        self._analyse(query, turn, played)
            except UserError as error:
                self._say({"id": query.id, "error": str(error)})
            except Exception as error:
                # A mistake of ours must not end the analysis of other positions.
                traceback.print_exc(file=sys.stderr)
                self._say({"id": query.id, "error": f"internal error: {one_line(error)}"})
            with self._changed:
                self._running = ""

    def _analyse(self, query: Query, turn: int, played: GtpGame) -> None:
        colour = played.to_play
        state = played.state_for(colour)
        legal = state.legal_actions().tolist()
        only, never = query.allow.get(colour), query.avoid.get(colour, frozenset())
        allowed = [
            action for action in legal if action not in never and (only is None or action in only)
        ]
        if not allowed:
            raise QueryFault("avoidMoves", "no legal move is left")
        limits = ThinkLimits(
            nodes=query.max_visits or self._player.settings.nodes or DEFAULT_NODES,
            soft_s=query.max_time_s,
            hard_s=query.max_time_s,
            allowed=tuple(allowed),
        )

        # Asked where the search runs: an evaluator serves one thread.
        view = cache(lambda: self._player.view(played, colour))

        def answer(*, during: bool) -> Callable[[Thought], None]:
            return lambda thought: self._say(
                {"id": query.id, "turnNumber": turn, "isDuringSearch": during}
                | self._describe(query, played, thought, view())
            )

        every = query.report_every_s
        watcher = Watcher(
            tell=answer(during=True) if every is not None else lambda _: None,
            interval_s=every or 3600.0,
            lines=_MOST_MOVES,
        )
        thought = self._player.think(played, colour, limits, stop=self._stop, watcher=watcher)
        answer(during=False)(thought)

    def _describe(
        self, query: Query, played: GtpGame, thought: Thought, view: NetView | None
    ) -> dict[str, Any]:
        colour = played.to_play
        state = played.state_for(colour)
        sign = {"SIDETOMOVE": 1, "BLACK": 1 - 2 * colour, "WHITE": 2 * colour - 1}[query.view]
        moves = [move for move in thought.moves[:_MOST_MOVES] if move.visits > 0]
        if view is not None:
            view.look_at([move.action for move in moves])
        points = {move.action: None if view is None else view.after(move.action) for move in moves}
        found: dict[str, Any] = {
            "moveInfos": [
                self._move_info(played, move, order, sign) | _points(points[move.action], sign)
                for order, move in enumerate(moves)
            ],
            "rootInfo": {
                **_worth(thought.value, sign),
                **_points(None if view is None else view.points, sign),
                "visits": thought.nodes,
                "currentPlayer": "B" if colour == BLACK else "W",
            },
        }
        if query.ownership:
            black_view = 1 if (sign == 1) == (colour == BLACK) else -1
            owners = (
                black_view * estimate_status(state).ownership
                if view is None
                else sign * view.ownership
            )
            found["ownership"] = [round(owner, 3) for owner in owners[::-1].ravel().tolist()]
        if query.policy:
            found["policy"] = _policy(played, thought)
        return found

    def _move_info(
        self, played: GtpGame, move: MoveThought, order: int, sign: int
    ) -> dict[str, Any]:
        text = played.game.format_action
        bound = 2 * lower_bound(win_rate(move.value), move.visits) - 1
        return {
            "move": text(played.state, move.action),
            "visits": move.visits,
            **_worth(move.value, sign),
            "prior": round(move.prior, 6),
            "lcb": round(win_rate(sign * bound), 6),
            "utilityLcb": round(sign * bound, 6),
            "weight": move.visits,
            "order": order,
            "pv": [text(played.state, action) for action in move.line],
        }

    def _say_no_result(self, query: Query, turn: int) -> None:
        self._say({"id": query.id, "turnNumber": turn, "isDuringSearch": False, "noResults": True})

    def _say(self, answer: Mapping[str, Any]) -> None:
        with self._changed:
            self._output.write(json.dumps(answer, allow_nan=False) + "\n")
            self._output.flush()


def _worth(value: float, sign: int) -> dict[str, float]:
    """Win rate and what stands for a score, in the wanted view."""
    rate = win_rate(sign * value)
    lead = round(points_from_win_rate(rate), 3)
    return {
        "winrate": round(rate, 6),
        "utility": round(sign * value, 6),
        "scoreLead": lead,
        "scoreMean": lead,
        "scoreSelfplay": lead,
        "scoreStdev": 0.0,
    }


def _points(points: Points | None, sign: int) -> dict[str, float]:
    """What the net says of points, in the wanted view."""
    if points is None:
        return {}
    lead = round(sign * points.lead, 3)
    return {
        "scoreLead": lead,
        "scoreMean": lead,
        "scoreSelfplay": round(sign * points.score, 3),
    }


def _policy(played: GtpGame, thought: Thought) -> list[float]:
    """Priors from the top left, the pass last; -1 for what is not legal."""
    size = played.size
    priors = [-1.0] * (size * size + 1)
    for move in thought.moves:
        row, column = divmod(move.action, size)
        index = size * size if move.action == size * size else (size - 1 - row) * size + column
        priors[index] = round(move.prior, 6)
    return priors
