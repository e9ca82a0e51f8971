"""Nets with our search: `FILE.safetensors[@nodes][?setting=value&...]`.

Settings: `batch` (leaves per call of the net), `threads`, `evaluator` (onnx, torch), `precision`
(fp32, int8), `search` (a search preset), `variety` (share for the second-best rule; 0 is off).
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zerogames.arena.players import Choice, Limits, PlayerKind, Position
from zerogames.arena.variety import choose_by_evaluations
from zerogames.errors import UserError, unknown_name
from zerogames.evaluate import Evaluator, check_precision, open_evaluator
from zerogames.game import Game
from zerogames.search import Search, new_search
from zerogames.search_settings import search_preset

_UNBOUNDED = 1_000_000_000
_SETTINGS = ("batch", "threads", "evaluator", "precision", "search", "variety")


@dataclass(frozen=True)
class NetCommand:
    """What the text of a net player says."""

    path: Path
    nodes: int | None
    batch: int = 8
    threads: int = 1
    evaluator: str = "onnx"
    precision: str = "fp32"
    search: str = "engine"
    variety: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "NetCommand":
        """Read the text; the file must be there."""
        body, _, query = text.partition("?")
        name, at, nodes = body.rpartition("@")
        if not at:
            name, nodes = body, ""
        if at and not (nodes.isdecimal() and 1 <= int(nodes) <= _UNBOUNDED):
            raise UserError(f"'{text}': write the nodes a move behind @, e.g. net.safetensors@200")
        if not Path(name).is_file():
            raise UserError(f"there is no net file '{name}'; train one or give its path")
        settings = dict(_setting(part, text) for part in query.split("&") if part)
        evaluator, search = settings.get("evaluator", "onnx"), settings.get("search", "engine")
        precision = settings.get("precision", "fp32")
        check_precision(precision, evaluator)
        search_preset(search)
        return cls(
            path=Path(name),
            nodes=int(nodes) if nodes else None,
            batch=int(_number(settings.get("batch", "8"), "batch", 1, 4096)),
            threads=int(_number(settings.get("threads", "1"), "threads", 1, 1024)),
            evaluator=evaluator,
            precision=precision,
            search=search,
            variety=_number(settings.get("variety", "0"), "variety", 0, 1),
        )

    def title(self) -> str:
        """File name, nodes, and the precision where it is not the usual one."""
        nodes = f"@{self.nodes}" if self.nodes else ""
        precision = "" if self.precision == "fp32" else f" {self.precision}"
        return f"{self.path.name.removesuffix('.safetensors')}{nodes}{precision}"


class NetPlayer:
    """Searches with a net; keeps its tree from move to move."""

    def __init__(self, command: NetCommand, game: Game, evaluator: Evaluator | None = None) -> None:
        self._command = command
        self._evaluator = evaluator or open_evaluator(
            game,
            kind=command.evaluator,
            net=command.path,
            threads=command.threads,
            precision=command.precision,
        )
        # Early stopping would leave the second-best move too few evaluations to compare.
        self._settings = search_preset(
            command.search, early_stop=command.variety == 0, cache_mebibytes=64
        )
        self._search: Search | None = None
        self._searched: list[int] = []
        self._start = ""
        self._rng = np.random.default_rng(0)
        self._seed = 0
        self._closed = False

    def new_game(self, position: Position, seed: int) -> None:
        """Forget the tree."""
        self._search = None
        self._seed = seed
        self._rng = np.random.default_rng(seed)

    def choose(self, position: Position, limits: Limits) -> Choice:
        """Search by nodes or by the clock."""
        nodes = self._command.nodes or limits.nodes
        budget = limits.budget_s(position.state.to_play)
        if nodes is None and budget is None:
            raise UserError(
                "a net needs a limit: write net.safetensors@200, or give --nodes or --tc"
            )
        end = math.inf if budget is None else time.monotonic() + budget
        search = self._follow(position)
        search.start(nodes or _UNBOUNDED, explore=False)
        rows = 0
        while not search.done and not self._closed:
            planes = search.collect(self._batch(search, nodes))
            if len(planes):
                rows += len(planes)
                search.apply(*self._evaluator.evaluate(planes))
            if time.monotonic() >= end and search.simulations > 0:
                break
        value = float(search.value)
        return Choice(
            action=self._pick(search, nodes),
            win_rate=(1 + value) / 2,
            centipawns=_centipawns(value),
            nodes=max(1, search.simulations),
        )

    def close(self) -> None:
        """End a running search."""
        self._closed = True

    def _follow(self, position: Position) -> Search:
        """The search of the last move, gone on to this position, or a new one."""
        search, known = self._search, len(self._searched)
        actions = list(position.actions)
        if (
            search is not None
            and self._start == position.start
            and actions[:known] == self._searched
        ):
            for action in actions[known:]:
                search.advance(action)
        else:
            search = new_search(
                position.game,
                self._settings,
                state=position.state,
                encoding=self._evaluator.encoding,
                seed=self._seed,
                needs_observation=self._evaluator.capabilities.needs_observation,
            )
        self._search, self._searched, self._start = search, actions, position.start
        return search

    def _batch(self, search: Search, nodes: int | None) -> int:
        """Small batches at first: leaves chosen together know less of each other."""
        return max(1, min(self._command.batch, search.simulations // 4 + 1, nodes or _UNBOUNDED))

    def _pick(self, search: Search, nodes: int | None) -> int:
        actions = search.actions
        if nodes == 1:
            return int(actions[int(np.argmax(search.raw_priors))])
        if self._command.variety > 0 and search.proven is None:
            visits = [int(count) for count in search.visits]
            index = choose_by_evaluations(
                visits, float(self._rng.random()), share=self._command.variety
            )
            return int(actions[index])
        return search.choose(0.0)


def _centipawns(value: float) -> float:
    """Lc0's curve, so that adjudication limits mean the same for nets and engines."""
    return 90 * math.tan(1.5637541897 * max(-0.9999, min(0.9999, value)))


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


def _make(argument: str, game: Game) -> NetPlayer:
    return NetPlayer(NetCommand.parse(argument), game)


kind = PlayerKind(title=lambda argument: NetCommand.parse(argument).title(), make=_make)
