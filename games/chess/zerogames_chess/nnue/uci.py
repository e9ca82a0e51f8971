"""The alpha-beta engine under UCI."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from zerogames.errors import UserError
from zerogames.protocol.engine import BestMove, InfoLine, SearchOrder
from zerogames.protocol.options import Option, OptionValue, parse_integer
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.engine import (
    BENCH_DEPTH,
    CENTIPAWN,
    SearchInfo,
    bench,
    load_engine,
    moves_to_mate,
)
from zerogames_chess.uci.position import UciPosition

MAX_HASH_MB = 65_536
MAX_DEPTH = 127


class NnueEngine:
    """One network with a transposition table."""

    name = "zerogames nnue"

    def __init__(self, network: Path, *, hash_mb: int = 16) -> None:
        self._network, self._hash_mb = network, hash_mb
        self._engine = load_engine(network, hash_mb=hash_mb)
        self._order: SearchOrder | None = None
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._benching: _native.Engine | None = None

    @property
    def options(self) -> Sequence[Option]:
        """One thread, a table and a file."""
        return (
            Option(name="Hash", kind="spin", default=self._hash_mb, low=1, high=MAX_HASH_MB),
            Option(name="Clear Hash", kind="button"),
            Option(name="Threads", kind="spin", default=1, low=1, high=1),
            Option(name="EvalFile", kind="string", default=str(self._network)),
        )

    def set_option(self, name: str, value: OptionValue) -> None:
        """Take a value; another file is loaded at once."""
        if name == "Hash":
            self._engine.set_hash(int(value))
            self._hash_mb = int(value)
        elif name == "Clear Hash":
            self._engine.new_game()
        elif name == "EvalFile":
            self._engine = load_engine(Path(str(value)), hash_mb=self._hash_mb)
            self._network = Path(str(value))

    def get_ready(self) -> None:
        """It is since it was made."""

    def new_game(self) -> None:
        """Clear the table."""
        self._engine.new_game()

    def allow(self, order: SearchOrder) -> None:
        """Forget earlier signals."""
        self._order, self._timer = order, None
        self._began = time.monotonic()
        self._engine.allow()

    def stop(self) -> None:
        """End the search within a thousand nodes."""
        self._engine.stop()
        if self._benching is not None:
            self._benching.stop()

    def ponder_hit(self) -> None:
        """Time pondered was thinking time too: only the rest of the share is used."""
        soft_s = self._order.limits.soft_s if self._order else None
        left = 0.0 if soft_s is None else soft_s - (time.monotonic() - self._began)
        self._timer = threading.Timer(max(0.0, left), self._engine.stop)
        self._timer.daemon = True
        self._timer.start()

    def think(
        self, position: UciPosition, order: SearchOrder, on_info: Callable[[InfoLine], None]
    ) -> BestMove:
        """Search deeper and deeper."""
        self._engine.set_position(position.fen, list(position.moves), position.chess960)
        limits = order.limits
        is_timed = not (limits.ponder or limits.infinite)
        depths = [depth for depth in (limits.depth, order.mate and 2 * order.mate) if depth]
        found = self._engine.go(
            soft_ms=_milliseconds(limits.soft_s) if is_timed else 0,
            move_time_ms=_milliseconds(limits.hard_s) if is_timed else 0,
            nodes=0 if limits.ponder else limits.nodes or 0,
            depth=0 if limits.ponder else min([*depths, MAX_DEPTH]),
            lines=limits.lines,
            moves=order.moves,
            on_info=lambda info: on_info(_info_line(info)),
        )
        if self._timer is not None:
            self._timer.cancel()
        return BestMove(*found["line"][:2])

    def evaluation(self, position: UciPosition) -> str:
        """The network's own score."""
        self._engine.set_position(position.fen, list(position.moves), position.chess960)
        return f"evaluation {self._engine.evaluate()}"

    def bench(self, words: Sequence[str], stop: threading.Event) -> list[str]:
        """The node signature: it changes exactly when the search or the network does."""
        depth = parse_integer(words[0]) if words else BENCH_DEPTH
        if depth is None:
            raise UserError("bench: write the depth, e.g. `bench 9`")
        self._benching = engine = load_engine(self._network)
        if stop.is_set():  # Before `stop` above could know of this engine.
            engine.stop()
        nodes, seconds = bench(engine, min(max(1, depth), 30))
        return [f"bench {nodes} nodes {round(nodes / max(seconds, 1e-3))} nodes/s"]


def _milliseconds(seconds: float | None) -> int:
    """Return whole milliseconds, at least 1; 0 for no limit."""
    return 0 if seconds is None else max(1, round(1000 * seconds))


def _info_line(info: SearchInfo) -> InfoLine:
    return InfoLine(
        rank=info["rank"],
        depth=info["depth"],
        seldepth=info["seldepth"],
        time_ms=info["time_ms"],
        nodes=info["nodes"],
        nodes_per_s=info["nodes"] * 1000 // max(1, info["time_ms"]),
        hashfull=info["hashfull"],
        centipawns=round(info["score"] * 100 / CENTIPAWN),
        mate=moves_to_mate(info["score"]),
        line=tuple(info["line"]),
    )
