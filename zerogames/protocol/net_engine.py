"""A net with tree search under a protocol."""

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from zerogames.engine import (
    EngineSettings,
    MoveThought,
    NetEngine,
    ThinkLimits,
    Thought,
    centipawns,
)
from zerogames.errors import UserError
from zerogames.evaluate import EVALUATOR_KINDS, PRECISIONS, evaluate_states
from zerogames.game import Game, State, format_actions
from zerogames.protocol.engine import BestMove, InfoLine, SearchOrder
from zerogames.protocol.options import Option, OptionValue
from zerogames.protocol.position import Position
from zerogames.protocol.settings import (
    MAX_BATCH,
    MAX_HASH_MB,
    MAX_THREADS,
    ProtocolSettings,
)

INFO_INTERVAL_S = 0.5
_FIELDS = {
    "WeightsFile": "net",
    "Backend": "evaluator",
    "Precision": "precision",
    "Threads": "threads",
    "Batch": "batch",
    "Hash": "hash",
}
"""Options and their fields in `ProtocolSettings`."""
_LOADING = ("net", "evaluator", "precision", "threads")
"""Fields whose change loads the net again."""


class ProtocolNetEngine:
    """Loads its net in the background, so that the first questions are answered at once."""

    name = "zerogames"

    def __init__(self, game: str, settings: ProtocolSettings) -> None:
        self._game = game
        self._settings = settings
        self._loaded: ProtocolSettings | None = None
        self._engine: NetEngine | None = None
        self._current: ProtocolSettings | None = None
        """The settings of the engine; None if its tree is to be forgotten."""
        self._problem: UserError | None = None
        self._stop, self._hit = threading.Event(), threading.Event()
        self._loading = threading.Lock()
        self._load_in_background()

    @property
    def options(self) -> Sequence[Option]:
        """The options, with the settings at the start for defaults."""
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
            Option(name="Hash", kind="spin", default=_hash_mb(given), low=1, high=MAX_HASH_MB),
            Option(name="Clear Hash", kind="button"),
            Option(name="Cpuct", kind="string", default=f"{given.search.cpuct:g}"),
        )

    def set_option(self, name: str, value: OptionValue) -> None:
        """Take a value; a net is loaded when it is needed next."""
        changes: dict[str, object] = {}
        if name == "WeightsFile":
            changes["net"] = _net_file(str(value))
        elif name == "Cpuct":
            cpuct = _exploration(str(value))
            changes["search"] = dataclasses.replace(self._settings.search, cpuct=cpuct)
        elif name != "Clear Hash":
            changes[_FIELDS[name]] = value
        else:
            self._current = None
        self._settings = dataclasses.replace(self._settings, **changes)  # type: ignore[arg-type]

    def get_ready(self) -> None:
        """Load what is not loaded; the old net stays if the new one cannot be."""
        with self._loading:
            wanted = self._settings
            if self._loaded is None or any(
                getattr(wanted, name) != getattr(self._loaded, name) for name in _LOADING
            ):
                self._load(wanted)
            if self._problem is not None:
                problem = self._problem
                if self._engine is not None:
                    self._problem = None
                raise problem
            if self._current != wanted:
                self._engine = self._new_engine()
                self._current = wanted

    def _load(self, wanted: ProtocolSettings) -> None:
        self._loaded = wanted
        self._problem = None
        try:
            self._engine = NetEngine.open(self._game, wanted.net, _engine_settings(wanted))
            self._current = wanted
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

    def _new_engine(self) -> NetEngine:
        """Make an engine with the same net and an empty tree by the present settings."""
        engine = self._engine
        assert engine is not None
        settings = _engine_settings(self._settings)
        return NetEngine(engine.game, engine.evaluator, settings, net=engine.net)

    def new_game(self) -> None:
        """Forget the tree."""
        with self._loading:
            if self._engine is not None:
                self._engine.new_game()

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
        self, position: Position, order: SearchOrder, on_info: Callable[[InfoLine], None]
    ) -> BestMove:
        """Search; a position that is drawn for certain gets its first legal move."""
        engine = self._engine
        if engine is None:
            raise self._problem or UserError("no net is loaded; set the option WeightsFile")
        state = position.state
        if state.result is not None:
            move = (order.moves or position.legal_moves)[0]
            on_info(_drawn(move))
            return BestMove(move)
        engine.set_position(position.start, position.actions)
        last = None

        def tell(thought: Thought) -> None:
            nonlocal last
            # Without news no line is repeated at each interval.
            news = (thought.depth, thought.seldepth, thought.best, thought.nodes)
            if news != last:
                last = news
                for line in info_lines(engine.game, state, thought, order.limits.lines):
                    on_info(line)

        allowed = tuple(engine.game.parse_action(state, text) for text in order.moves) or None
        thought = engine.think(
            dataclasses.replace(order.limits, allowed=allowed),
            stop=self._stop,
            ponder_hit=self._hit,
            on_info=tell,
            info_interval_s=INFO_INTERVAL_S,
        )
        tell(thought)
        if not thought.moves or not len(thought.moves[0].line):
            raise RuntimeError("the search found no move")
        return BestMove(*format_actions(engine.game, state, thought.moves[0].line[:2]))

    def evaluation(self, position: Position) -> str:
        """Return the net's win, draw and loss probabilities."""
        self.get_ready()
        assert self._engine is not None
        (found,) = evaluate_states(self._engine.evaluator, [position.state])
        return "win {:.3f} draw {:.3f} loss {:.3f}".format(*found.wdl)

    def bench(self, words: Sequence[str], stop: threading.Event) -> list[str]:
        """Measure the nodes per second of a search from the start position."""
        self.get_ready()
        nodes = int(words[0]) if words and words[0].isdecimal() else 1000
        engine = self._new_engine()
        began = time.monotonic()
        thought = engine.think(ThinkLimits(nodes=min(max(nodes, 1), 1_000_000), lines=2), stop=stop)
        seconds = max(time.monotonic() - began, 1e-3)
        return [f"bench {thought.nodes} nodes {round(thought.nodes / seconds)} nodes/s"]


def _engine_settings(given: ProtocolSettings) -> EngineSettings:
    return EngineSettings(
        evaluator=given.evaluator,
        precision=given.precision,
        threads=given.threads,
        batch=given.batch * given.threads,
        search=dataclasses.replace(given.search, cache_mebibytes=_hash_mb(given)),
    )


def _hash_mb(given: ProtocolSettings) -> int:
    return given.hash or given.search.cache_mebibytes


def _net_file(text: str) -> Path | None:
    if not text:
        return None
    if not Path(text).is_file():
        raise UserError(f"there is no net file '{text}'")
    return Path(text)


def _drawn(move: str) -> InfoLine:
    """Return the line of a drawn position, as match managers expect a score."""
    return InfoLine(
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


def info_lines(game: Game, state: State, thought: Thought, lines: int) -> list[InfoLine]:
    """Return the `info` lines of what is known."""
    return [
        InfoLine(
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
            line=tuple(format_actions(game, state, move.line)),
        )
        for rank, move in enumerate(thought.moves[:lines], start=1)
    ]


def _thousandths(move: MoveThought) -> tuple[int, int, int]:
    win, draw, _ = move.wdl
    rounded = round(1000 * win), round(1000 * draw)
    return rounded[0], min(rounded[1], 1000 - rounded[0]), max(0, 1000 - sum(rounded))


def _exploration(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise UserError(f"option Cpuct: '{text[:20]}' is not a number from 0 to 100")
    return number
