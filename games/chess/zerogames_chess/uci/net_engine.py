"""A net with tree search under UCI."""

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from zerogames.engine import MoveThought, Thinker, ThinkLimits, Thought, centipawns
from zerogames.engine.thought import win_draw_loss
from zerogames.errors import UserError
from zerogames.evaluate import EVALUATOR_KINDS, PRECISIONS, Evaluator, open_evaluator
from zerogames.registry import get_game
from zerogames.search.settings import SearchSettings, search_preset
from zerogames_chess._native import State
from zerogames_chess.uci.engine import BestMove, Report, SearchOrder
from zerogames_chess.uci.options import Option, OptionValue
from zerogames_chess.uci.position import UciPosition
from zerogames_chess.uci.settings import MAX_BATCH, MAX_HASH_MB, MAX_THREADS

INFO_INTERVAL_S = 0.5


@dataclass(frozen=True, kw_only=True)
class NetSettings:
    """What the options of a net engine say."""

    net: Path | None
    evaluator: str = "native"
    precision: str = "fp32"
    threads: int = 1
    batch: int = 32
    hash_mb: int = 256
    search: SearchSettings = field(default_factory=lambda: search_preset("engine"))

    def open(self) -> Evaluator:
        """Load the net."""
        return open_evaluator(
            get_game("chess"),
            kind=self.evaluator,
            net=self.net,
            threads=self.threads,
            precision=self.precision,
        )


_LOADING = {
    "WeightsFile": "net",
    "Backend": "evaluator",
    "Precision": "precision",
    "Threads": "threads",
}
"""Options that need the net to be loaded again, and their fields."""


class NetEngine:
    """Loads its net in the background, so that the first questions are answered at once."""

    name = "zerogames"

    def __init__(self, settings: NetSettings) -> None:
        self._settings = settings
        self._loaded: NetSettings | None = None
        self._evaluator: Evaluator | None = None
        self._thinker: Thinker | None = None
        self._problem: UserError | None = None
        self._stop, self._hit = threading.Event(), threading.Event()
        self._loading = threading.Lock()
        self._load_in_background()

    @property
    def options(self) -> Sequence[Option]:
        """With the settings as they were given at the start for defaults."""
        given = self._settings
        return (
            Option(name="WeightsFile", kind="string", default=str(given.net or "")),
            Option(
                name="Backend",
                kind="combo",
                default=given.evaluator,
                choices=tuple(EVALUATOR_KINDS),
            ),
            Option(name="Precision", kind="combo", default=given.precision, choices=PRECISIONS),
            Option(name="Threads", kind="spin", default=given.threads, low=1, high=MAX_THREADS),
            Option(name="Batch", kind="spin", default=given.batch, low=1, high=MAX_BATCH),
            Option(name="Hash", kind="spin", default=given.hash_mb, low=1, high=MAX_HASH_MB),
            Option(name="Clear Hash", kind="button"),
            Option(name="Cpuct", kind="string", default=f"{given.search.cpuct:g}"),
        )

    def set_option(self, name: str, value: OptionValue) -> None:
        """Take a value; a net is loaded when it is needed next."""
        if name == "Clear Hash":
            self._thinker = None
        elif name in _LOADING:
            new: OptionValue | Path | None = value
            if name == "WeightsFile":
                new = Path(str(value)) if value else None
                if new is not None and not new.is_file():
                    raise UserError(f"there is no net file '{new}'")
            self._settings = dataclasses.replace(self._settings, **{_LOADING[name]: new})  # type: ignore[arg-type]
        else:
            self._settings = self._with_option(name, value)
            self._thinker = None

    def _with_option(self, name: str, value: OptionValue) -> NetSettings:
        settings = self._settings
        if name == "Batch":
            return dataclasses.replace(settings, batch=int(value))
        if name == "Hash":
            return dataclasses.replace(settings, hash_mb=int(value))
        search = dataclasses.replace(settings.search, cpuct=_exploration(str(value)))
        return dataclasses.replace(settings, search=search)

    def get_ready(self) -> None:
        """Load what is not loaded; the old net stays if the new one cannot be."""
        with self._loading:
            wanted = self._settings
            fields = tuple(_LOADING.values())
            if self._loaded is None or any(
                getattr(wanted, name) != getattr(self._loaded, name) for name in fields
            ):
                self._load(wanted)
            if self._problem is not None:
                problem = self._problem
                if self._evaluator is not None:
                    self._problem = None
                raise problem
            if self._thinker is None:
                assert self._evaluator is not None
                self._thinker = self._new_thinker(self._evaluator)

    def _load(self, wanted: NetSettings) -> None:
        self._loaded = wanted
        self._problem = None
        try:
            self._evaluator = wanted.open()
            self._thinker = None
        except UserError as error:
            self._problem = error
        except Exception as error:
            self._problem = UserError(f"{wanted.net}: {type(error).__name__}: {error}")

    def _load_in_background(self) -> None:
        def load() -> None:
            with self._loading:
                if self._loaded is None:
                    self._load(self._settings)

        threading.Thread(target=load, name="load").start()

    def _new_thinker(self, evaluator: Evaluator) -> Thinker:
        given = self._settings
        settings = dataclasses.replace(given.search, cache_mebibytes=given.hash_mb)
        batch = given.batch * given.threads
        return Thinker(get_game("chess"), evaluator, settings=settings, batch=batch)

    def new_game(self) -> None:
        """Forget the tree."""
        with self._loading:
            if self._thinker is not None:
                self._thinker.new_game()

    def allow(self, order: SearchOrder) -> None:
        """Forget earlier signals."""
        self._stop.clear()
        self._hit.clear()

    def stop(self) -> None:
        """End the search with its present batch."""
        self._stop.set()

    def ponder_hit(self) -> None:
        """Let the limits count."""
        self._hit.set()

    def think(
        self, position: UciPosition, order: SearchOrder, report: Callable[[Report], None]
    ) -> BestMove:
        """Search; a position that is drawn for certain gets its first legal move."""
        thinker = self._thinker
        if thinker is None:
            raise UserError("no net is loaded; set the option WeightsFile")
        if position.state.result is not None:
            move = (order.moves or position.legal_moves)[0]
            report(_drawn(move))
            return BestMove(move)
        thinker.set_position(position.start, position.actions)
        state = position.state
        budget = order.budget
        allowed = tuple(state.parse_uci(text) for text in order.moves) or None
        last = None

        def tell(thought: Thought) -> None:
            nonlocal last
            # Without news no line is repeated at each interval.
            news = (thought.depth, thought.seldepth, thought.best, thought.nodes)
            if news != last:
                last = news
                for one in reports(state, thought, order.lines):
                    report(one)

        thought = thinker.think(
            ThinkLimits(
                nodes=order.nodes,
                depth=order.depth,
                soft_s=budget.soft_s if budget else None,
                hard_s=budget.hard_s if budget else None,
                infinite=order.infinite,
                ponder=order.ponder,
                allowed=allowed,
                lines=order.lines,
            ),
            stop=self._stop,
            ponder_hit=self._hit,
            on_info=tell,
            info_interval_s=INFO_INTERVAL_S,
        )
        tell(thought)
        line = _uci_line(state, thought.moves[0].line[:2]) if thought.moves else ()
        return BestMove(*line) if line else BestMove(None)

    def evaluation(self, position: UciPosition) -> str:
        """The net's own probabilities."""
        self.get_ready()
        evaluator = self._evaluator
        assert evaluator is not None
        planes = position.state.observe(evaluator.encoding)
        win, draw, loss = evaluator.evaluate(np.ascontiguousarray(planes[None])).wdl[0]
        return f"win {win:.3f} draw {draw:.3f} loss {loss:.3f}"

    def bench(self, words: Sequence[str]) -> list[str]:
        """Nodes per second of a search from the start position."""
        self.get_ready()
        evaluator = self._evaluator
        assert evaluator is not None
        nodes = int(words[0]) if words and words[0].isdecimal() else 1000
        thinker = self._new_thinker(evaluator)
        began = time.monotonic()
        thought = thinker.think(ThinkLimits(nodes=min(max(nodes, 1), 1_000_000), lines=2))
        seconds = max(time.monotonic() - began, 1e-3)
        return [f"bench {thought.nodes} nodes {round(thought.nodes / seconds)} nodes/s"]


def _drawn(move: str) -> Report:
    """Of a position that needs no search; match managers miss a score otherwise."""
    return Report(
        rank=1,
        depth=1,
        seldepth=1,
        time_ms=0,
        nodes=1,
        nodes_per_s=0,
        hashfull=0,
        centipawns=0,
        mate=None,
        wdl=(0, 1000, 0),
        line=(move,),
    )


def reports(state: State, thought: Thought, lines: int) -> list[Report]:
    """The `info` lines of what is known."""
    return [
        Report(
            rank=rank,
            depth=thought.depth,
            seldepth=thought.seldepth,
            time_ms=round(1000 * thought.elapsed_s),
            nodes=thought.nodes,
            nodes_per_s=round(thought.nodes_per_s),
            hashfull=thought.hashfull,
            centipawns=round(centipawns(move.value)),
            mate=move.mate,
            wdl=_thousandths(move),
            line=_uci_line(state, move.line),
        )
        for rank, move in enumerate(thought.moves[:lines], start=1)
    ]


def _thousandths(move: MoveThought) -> tuple[int, int, int]:
    win, draw, _ = win_draw_loss(move.value, move.draw)
    rounded = round(1000 * win), round(1000 * draw)
    return rounded[0], min(rounded[1], 1000 - rounded[0]), max(0, 1000 - sum(rounded))


def _uci_line(state: State, actions: Sequence[int]) -> tuple[str, ...]:
    line = []
    for action in actions:
        line.append(state.uci(action))
        state = state.play(action)
    return tuple(line)


def _exploration(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise UserError(f"option Cpuct: '{text[:20]}' is not a number from 0 to 100")
    return number
