"""One conversation with a user interface. No input ends it but `quit` and the end of input."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO, Generic, TextIO, TypeVar

from zerogames.engine.clock import TimeBudget, TimeLeft, TimeManager, move_time_budget
from zerogames.engine.fallback import first_success, one_line, smaller_limits
from zerogames.engine.limits import ThinkLimits
from zerogames.errors import UserError
from zerogames.memory import available_mebibytes
from zerogames.protocol.dialect import Dialect
from zerogames.protocol.engine import BestMove, Engine, InfoLine, SearchOrder
from zerogames.protocol.limits import GoLimits
from zerogames.protocol.options import Option, OptionTable, OptionValue
from zerogames.protocol.position import Position
from zerogames.runs.signals import hold_back_ctrl_c
from zerogames.version import __version__

P = TypeVar("P", bound=Position)
"""The positions of the game."""

MAX_LINE = 1 << 20
"""Bytes; a longer line is passed over."""
MAX_LINES = 256
"""The largest `MultiPV`."""
MAX_PERFT = 7
_DEFAULT_OVERHEAD_MS = 100
_UNREAD_S = 1.0
"""Seconds of a search whose limits cannot be read; without one it would wait for `stop`."""
_STAND_IN_S = 0.5
"""Most seconds of the engine that plays where another has no net; `stop` does not end it."""

_OPTIONS = (
    Option(name="MultiPV", kind="spin", default=1, low=1, high=MAX_LINES),
    Option(name="Ponder", kind="check", default=False),
    Option(name="MoveOverhead", kind="spin", default=_DEFAULT_OVERHEAD_MS, low=0, high=5000),
)


@dataclass(frozen=True, kw_only=True)
class SessionLimits(Generic[P]):
    """What bounds every move, and what plays where a search cannot."""

    nodes: int | None = None
    """The most nodes of a move, whatever the user interface allows."""
    move_time_s: float | None = None
    """The most seconds of a move, whatever the user interface allows."""
    stand_in: Callable[[], Engine[P]] | None = None
    """Opens the engine that plays where all searches fail."""
    stand_in_name: str = ""
    """What that engine is, for messages."""


class Session(Generic[P]):
    """Drives one engine; every line is answered or refused with an `info string`."""

    def __init__(
        self,
        engine: Engine[P],
        dialect: Dialect[P],
        output: TextIO,
        limits: SessionLimits[P] | None = None,
    ) -> None:
        """Begin a conversation with the initial position."""
        self._engine = engine
        self._dialect = dialect
        self._limits: SessionLimits[P] = limits or SessionLimits()
        self._stand_in: Engine[P] | None = None
        self._output = output
        self._writing = threading.Lock()
        options = (*_OPTIONS, *dialect.options, *engine.options)
        self._options = OptionTable(options, dialect.aliases)
        self._lines = 1
        self._debug = False
        self._position = dialect.initial_position()
        self._times = TimeManager(_DEFAULT_OVERHEAD_MS / 1000)
        self._worker: threading.Thread | None = None
        self._released = threading.Event()
        """Set when `bestmove` may be said: always, but for infinite searches and pondering."""
        self._stopped = threading.Event()
        """Set when `perft` or `bench` is to end."""
        self._pondering = False
        self._commands: dict[str, Callable[[Sequence[str]], None]] = {
            dialect.name: self._introduce,
            "isready": self._isready,
            f"{dialect.name}newgame": self._new_game,
            "setoption": self._setoption,
            "position": self._set_position,
            "go": self._go,
            "stop": lambda _: self._stop(),
            "ponderhit": lambda _: self._ponderhit(),
            "debug": self._set_debug,
            "register": lambda _: None,
            "bench": self._bench,
            "eval": self._eval,
            "d": lambda _: self._say(f"info string {dialect.describe(self._position)}"),
        }
        for word in dialect.silent_commands:
            self._commands[word] = lambda _: self._finish()

    def run(self, source: BinaryIO) -> None:
        """Answer line by line until `quit` or the end of input."""
        try:
            while line := source.readline(MAX_LINE):
                if not line.endswith(b"\n") and len(line) == MAX_LINE:
                    _skip_line(source)
                    self._say("info string error: the line is too long")
                elif not self.answer(line.decode("utf-8", "replace")):
                    self._stop()
                    break
            else:
                # A script that pipes commands wants the answers of searches that end by themselves.
                if self._worker is not None and not self._released.is_set():
                    self._stop()
            if self._worker is not None:
                self._worker.join()
        finally:
            self._finish()

    def answer(self, line: str) -> bool:
        """Answer one line; false after `quit`."""
        line = line.encode("utf-8", "replace").decode("utf-8")  # Half a character is none.
        words = line.split()
        # The protocol: words before a known command are passed over.
        while words and words[0] not in self._commands and words[0] != "quit":
            words = words[1:]
        if not words:
            if line.strip():
                self._say(f"info string unknown command {line.strip()[:60]!r}")
            return True
        if words[0] == "quit":
            return False
        try:
            self._commands[words[0]](words[1:])
        except UserError as error:
            self._say(f"info string error: {error}")
        except Exception as error:
            self._say(f"info string internal error: {one_line(error)}")
        return True

    def _say(self, text: str) -> None:
        with self._writing:
            print(" ".join(text.split("\n")), file=self._output, flush=True)

    def _introduce(self, _: Sequence[str]) -> None:
        self._say(f"id name {self._engine.name} {__version__}")
        self._say("id author the zerogames developers")
        for text in self._options.announcements(spaces=self._dialect.spaces_in_options):
            self._say(text)
        self._say(f"{self._dialect.name}ok")

    def _isready(self, _: Sequence[str]) -> None:
        try:
            if self._worker is None or not self._worker.is_alive():
                self._engine.get_ready()
        except UserError as error:
            self._say(f"info string error: {error}")
        self._say("readyok")

    def _new_game(self, _: Sequence[str]) -> None:
        self._finish()
        self._times.new_game()
        self._engine.new_game()

    def _set_debug(self, words: Sequence[str]) -> None:
        if list(words) not in (["on"], ["off"]):
            raise UserError("debug: write `debug on` or `debug off`")
        self._debug = words[0] == "on"

    def _setoption(self, words: Sequence[str]) -> None:
        option, value = self._options.read(" ".join(words))
        self._finish()
        if option.name == "Hash":
            most = available_mebibytes()
            if most is not None and int(value) > most:
                value = most
                self._say(f"info string option Hash: {most} MiB, as no more memory is free")
        if option in _OPTIONS:
            self._set_own_option(option.name, value)
        elif option in self._dialect.options:
            self._dialect.set_option(option.name, value)
        else:
            self._engine.set_option(option.name, value)

    def _set_own_option(self, name: str, value: OptionValue) -> None:
        if name == "MultiPV":
            self._lines = int(value)
        elif name == "MoveOverhead":
            self._times.overhead_s = int(value) / 1000
        # `Ponder` only tells that we may be asked to.

    def _set_position(self, words: Sequence[str]) -> None:
        self._position = self._dialect.parse_position(words)

    def _go(self, words: Sequence[str]) -> None:
        answer = self._dialect.answer_without_search(words)
        if answer is not None:
            self._finish()
            self._say(answer)
            return
        limits = GoLimits.parse(words)
        for problem in limits.problems:
            self._say(f"info string error: {problem}")
        self._finish()
        position = self._position
        if "perft" in words:
            self._perft(limits.numbers.get("perft", 0), position)
            return
        final = self._dialect.final_move(position)
        if final is not None:
            self._say(BestMove(final).text())
            return
        legal = position.legal_moves
        order = self._order(limits, position, legal)
        self._released = threading.Event()
        if not (order.limits.infinite or order.limits.ponder):
            self._released.set()
        self._pondering = order.limits.ponder
        self._engine.allow(order)
        released = self._released
        self._work(lambda: self._think(position, order, legal, released))

    def _work(self, task: Callable[[], None]) -> None:
        with hold_back_ctrl_c():
            self._worker = threading.Thread(target=task, name="think")
            self._worker.start()

    def _order(self, limits: GoLimits, position: P, legal: list[str]) -> SearchOrder:
        moves = []
        for text in limits.moves:
            if text in legal:
                moves.append(text)
            else:
                self._say(f"info string error: searchmoves: '{text[:20]}' is not legal here")
        nodes, budget = limits.bounded("nodes"), self._budget(limits, position)
        if not limits.infinite:
            nodes = min(filter(None, (nodes, self._limits.nodes)), default=None)
        depth, mate = limits.bounded("depth"), limits.bounded("mate")
        none = nodes is None and budget is None and depth is None and mate is None
        if none and limits.problems and not (limits.infinite or limits.ponder):
            self._say(f"info string no limit could be read: searching {_UNREAD_S:g} s")
            none, budget = False, move_time_budget(_UNREAD_S, self._times.overhead_s)
        think_limits = ThinkLimits(
            nodes=nodes,
            depth=depth,
            # Without any limit only `stop` ends a search.
            infinite=limits.infinite or (none and not limits.ponder),
            ponder=limits.ponder,
            lines=self._lines,
        )
        return SearchOrder(limits=think_limits.within(budget), mate=mate, moves=tuple(moves))

    def _budget(self, limits: GoLimits, position: P) -> TimeBudget | None:
        numbers, overhead = limits.numbers, self._times.overhead_s
        budgets = []
        if "movetime" in numbers:
            budgets.append(move_time_budget(max(1, numbers["movetime"]) / 1000, overhead))
        if self._limits.move_time_s is not None and not limits.infinite:
            budgets.append(move_time_budget(self._limits.move_time_s, 0))
        colour = self._dialect.clocks[int(position.second_to_move)]
        if f"{colour}time" in numbers or "byoyomi" in numbers:
            left = TimeLeft(
                # A clock that has run out still asks for a move.
                time_s=max(1, numbers.get(f"{colour}time", 0)) / 1000,
                increment_s=max(0, numbers.get(f"{colour}inc", 0)) / 1000,
                moves_to_go=numbers.get("movestogo"),
            )
            budget = self._times.budget(left, ply=position.ply)
            if numbers.get("byoyomi", 0) > 0:
                # Seconds that come anew with every move: all of them, and a share of the clock.
                period = move_time_budget(numbers["byoyomi"] / 1000, overhead).hard_s
                budget = TimeBudget(budget.soft_s + period, budget.hard_s + period)
            budgets.append(budget)
        return min(budgets, key=lambda budget: budget.hard_s, default=None)

    def _think(
        self,
        position: P,
        order: SearchOrder,
        legal: list[str],
        released: threading.Event,
    ) -> None:
        began = time.monotonic()
        try:
            best = self._best_move(position, order, legal)
        except Exception as error:
            self._say(f"info string internal error: {one_line(error)}; playing {legal[0]}")
            best = BestMove(legal[0])
        if not order.limits.ponder:
            self._times.moved(time.monotonic() - began)
        released.wait()
        self._say(best.text())

    def _best_move(self, position: P, order: SearchOrder, legal: list[str]) -> BestMove:
        """Search; after a failure with less, and where that fails by the stand-in."""
        problem = ""
        try:
            self._engine.get_ready()
        except UserError as error:
            problem = str(error)  # An engine that has another net searches with it.

        def search(engine: Engine[P], limits: ThinkLimits) -> BestMove:
            best = engine.think(position, replace(order, limits=limits), self._say_info)
            if best.move not in legal:
                raise ValueError(f"'{best.move}' is no legal move")
            return best

        def report(text: str) -> None:
            self._say(f"info string internal error: {text}; searching less")

        try:
            # The search with the shipped network is better than a net's policy without search.
            tries = islice(smaller_limits(order.limits), 2)
            best = first_success(tries, lambda limits: search(self._engine, limits), report)
        except Exception as error:
            if self._limits.stand_in is None:
                raise
            problem = str(error) if isinstance(error, UserError) else one_line(error)
            self._say(f"info string error: {problem}; playing by {self._limits.stand_in_name}")
        else:
            if problem:
                self._say(f"info string error: {problem}")
            return best
        self._stand_in = self._stand_in or self._limits.stand_in()
        seconds = min(_STAND_IN_S, order.limits.hard_s or _STAND_IN_S)
        return search(self._stand_in, ThinkLimits(soft_s=seconds, hard_s=seconds))

    def _say_info(self, info: InfoLine) -> None:
        self._say(
            info.text(show_wdl=self._dialect.show_wdl, mate_in_plies=self._dialect.mate_in_plies)
        )

    def _stop(self) -> None:
        self._stopped.set()
        self._engine.stop()
        self._released.set()

    def _ponderhit(self) -> None:
        if self._pondering:
            self._pondering = False
            self._engine.ponder_hit()
            self._released.set()

    def _finish(self) -> None:
        """Stop a running search and wait until it has said its best move."""
        if self._worker is not None:
            self._stop()
            self._worker.join()
            self._worker = None

    def _perft(self, depth: int, position: P) -> None:
        if not 1 <= depth <= MAX_PERFT:
            raise UserError(f"go perft: the depth must be from 1 to {MAX_PERFT}")

        def check() -> None:
            if self._stopped.is_set():
                raise UserError("perft was stopped")

        def count() -> list[str]:
            moves = position.state.divide(depth, check)
            total = sum(nodes for _, nodes in moves)
            return [*(f"{text}: {nodes}" for text, nodes in moves), f"Nodes searched: {total}"]

        self._answer_later("perft", count)

    def _answer_later(self, name: str, answer: Callable[[], list[str]]) -> None:
        """Say lines that take long to make; `stop` and `quit` end it."""

        def run() -> None:
            try:
                lines = answer()
            except UserError as error:
                lines = [f"info string error: {error}"]
            except Exception as error:
                lines = [f"info string internal error: {one_line(error)}"]
            if self._stopped.is_set():
                lines = [f"info string {name} was stopped"]
            for text in lines:
                self._say(text)

        self._stopped.clear()
        self._released.set()  # It ends by itself.
        self._work(run)

    def _eval(self, _: Sequence[str]) -> None:
        self._finish()
        self._say(f"info string {self._engine.evaluation(self._position)}")

    def _bench(self, words: Sequence[str]) -> None:
        self._finish()
        self._answer_later("bench", lambda: self._engine.bench(words, self._stopped))


def _skip_line(source: BinaryIO) -> None:
    while (part := source.readline(MAX_LINE)) and not part.endswith(b"\n"):
        pass
