"""Nets with our search: `FILE.safetensors[@nodes][?setting=value&...]`, or `net:NET[@nodes]...`.

NET is also `shipped`, `newest` or the name of a new net.
Settings: `batch` (leaves per call of the net), `threads`, `evaluator` (onnx, torch), `precision`
(fp32, int8), `search` (a search preset), `variety` (share for the second-best rule; 0 is off).
"""

import math
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zerogames.arena.players import Choice, MoveLimits, PlayerKind, Position
from zerogames.arena.variety import choose_by_evaluations
from zerogames.engine import (
    EngineSettings,
    NetEngine,
    ThinkLimits,
    Thought,
    centipawns,
    move_time_budget,
)
from zerogames.errors import UserError, unknown_name
from zerogames.evaluate import Evaluator, check_precision
from zerogames.game import Game, parse_position
from zerogames.nets.foreign import net_suffixes
from zerogames.runs.net_source import check_net_text
from zerogames.search.settings import search_preset

_MOST_NODES = 1_000_000_000
_OVERHEAD_S = 0.05
"""The player runs inside the match: no pipe and no user interface take time."""
_SETTINGS = ("batch", "threads", "evaluator", "precision", "search", "variety")


@dataclass(frozen=True)
class NetCommand:
    """What the text of a net player says."""

    path: Path
    """The file, or another name of a net."""
    nodes: int | None
    """Nodes a move; None leaves them to the match."""
    variety: float
    """Share of the second-best rule; 0 always plays the best move."""
    engine: EngineSettings

    @classmethod
    def parse(cls, text: str) -> "NetCommand":
        """Read the text; a file must be there."""
        body, _, query = text.partition("?")
        name, at, nodes = body.rpartition("@")
        if not at:
            name, nodes = body, ""
        if at and not (nodes.isdecimal() and 1 <= int(nodes) <= _MOST_NODES):
            raise UserError(f"'{text}': write the nodes a move behind @, e.g. net.safetensors@200")
        check_net_text(name)
        given = dict(_setting(part, text) for part in query.split("&") if part)
        evaluator, precision = given.get("evaluator", "native"), given.get("precision", "fp32")
        check_precision(precision, evaluator)
        variety = _number(given.get("variety", "0"), "variety", 0, 1)
        engine = EngineSettings(
            evaluator=evaluator,
            precision=precision,
            threads=int(_number(given.get("threads", "1"), "threads", 1, 1024)),
            batch=int(_number(given.get("batch", "8"), "batch", 1, 4096)),
            # Early stopping would leave the second-best move too few evaluations to compare.
            search=search_preset(
                given.get("search", "engine"), early_stop=variety == 0, cache_mebibytes=64
            ),
            overhead_s=_OVERHEAD_S,
        )
        return cls(Path(name), int(nodes) if nodes else None, variety, engine)

    def title(self) -> str:
        """File name, nodes, and the precision where it is not the usual one."""
        nodes = f"@{self.nodes}" if self.nodes else ""
        precision = self.engine.precision
        name = self.path.name
        for suffix in net_suffixes():
            name = name.removesuffix(suffix)
        return f"{name}{nodes}" if precision == "fp32" else f"{name}{nodes} {precision}"


class NetPlayer:
    """Searches with a net, whose tree is kept from move to move."""

    def __init__(self, command: NetCommand, game: Game, evaluator: Evaluator | None = None) -> None:
        """Load the command's net, or use an evaluator that is open."""
        self._command = command
        if evaluator is None:
            self._engine = NetEngine.open(game, command.path, command.engine)
        else:
            self._engine = NetEngine(game, evaluator, command.engine)
        self._start_text, self._start = "", game.initial_state()
        self._rng = np.random.default_rng(0)
        self._closed = threading.Event()

    def new_game(self, position: Position, seed: int) -> None:
        """Forget the tree."""
        self._engine.new_game(seed=seed)
        self._rng = np.random.default_rng(seed)

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Search by nodes or by the clock."""
        if position.start != self._start_text:
            self._start_text = position.start
            self._start = parse_position(position.game, position.start)
        think_limits = self._think_limits(position, limits)
        self._engine.set_position(self._start, position.actions)
        thought = self._engine.think(think_limits, stop=self._closed)
        return Choice(
            action=self._pick(thought),
            win_rate=(1 + thought.value) / 2,
            centipawns=centipawns(thought.value),
            depth=thought.depth,
            nodes=thought.nodes,
        )

    def close(self) -> None:
        """End a running search."""
        self._closed.set()

    def _think_limits(self, position: Position, limits: MoveLimits) -> ThinkLimits:
        nodes = self._command.nodes or limits.nodes
        if limits.move_time_s is not None:
            budget = move_time_budget(limits.move_time_s, _OVERHEAD_S)
            return ThinkLimits(nodes=nodes).within(budget)
        clock = limits.clock(position.state.to_play)
        if nodes is None and clock is None:
            raise UserError(
                "a net needs a limit: write net.safetensors@200, or give --nodes or --tc"
            )
        return ThinkLimits(nodes=nodes, clock=clock)

    def _pick(self, thought: Thought) -> int | None:
        moves = thought.moves
        if self._command.variety > 0 and moves and moves[0].proven is None and thought.nodes > 1:
            index = choose_by_evaluations(
                [move.visits for move in moves],
                float(self._rng.random()),
                share=self._command.variety,
            )
            return moves[index].action
        return thought.best


def _setting(part: str, text: str) -> tuple[str, str]:
    key, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals:
        raise UserError(f"'{part}' in '{text}' is not setting=value")
    if key not in _SETTINGS:
        raise unknown_name("setting of a net player", key, _SETTINGS)
    return key, value


def _number(text: str, key: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise UserError(f"{key}={text} is not a number from {low:g} to {high:g}")
    return number


kind = PlayerKind(
    title=lambda argument: NetCommand.parse(argument).title(),
    make=lambda argument, game: NetPlayer(NetCommand.parse(argument), game),
)
