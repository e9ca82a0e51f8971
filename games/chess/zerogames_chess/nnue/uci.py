"""`zerogames nnue uci`: the engine under a chess user interface."""

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, TextIO

import chess
import tyro

from zerogames.errors import UserError
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.engine import SearchInfo, bench, format_score
from zerogames_chess.nnue.inference import load_native
from zerogames_chess.nnue.network import read_network

MAX_HASH_MB = 65_536
_GO_NUMBERS = frozenset(
    ["wtime", "btime", "winc", "binc", "movestogo", "movetime", "depth", "nodes"]
)


@dataclass(frozen=True)
class _Options:
    eval_file: Path
    hash_mb: int = 16
    chess960: bool = False


class UciSession:
    """One conversation; bad input is answered with an `info string`, never with the end."""

    def __init__(self, eval_file: Path, *, hash_mb: int = 16, output: TextIO) -> None:
        self._options = _Options(eval_file, hash_mb)
        self._output = output
        self._writing = threading.Lock()
        self._engine = _native.Engine(load_native(read_network(eval_file)), hash_mb)
        self._worker: threading.Thread | None = None
        self._stopped = threading.Event()
        self._commands: dict[str, Callable[[Sequence[str]], None]] = {
            "uci": self._uci,
            "isready": lambda _: self._say("readyok"),
            "ucinewgame": self._new_game,
            "position": self._position,
            "go": self._go,
            "stop": lambda _: self._finish(),
            "setoption": self._setoption,
            "bench": self._bench,
            "eval": lambda _: self._say(f"info string evaluation {self._engine.evaluate()}"),
            "d": lambda _: self._say(f"info string fen {self._engine.fen}"),
            "debug": lambda _: None,
            "ponderhit": lambda _: None,
            "register": lambda _: None,
        }

    def run(self, lines: TextIO) -> None:
        """Answer line by line until `quit` or the end of input."""
        for line in lines:
            if not self.answer(line):
                break
        self._finish()

    def answer(self, line: str) -> bool:
        """Answer one line; false after `quit`."""
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
        return True

    def _say(self, text: str) -> None:
        with self._writing:
            print(text, file=self._output, flush=True)

    def _finish(self) -> None:
        """Stop a running search and wait until it has said its best move."""
        if self._worker is not None:
            self._engine.stop()
            self._stopped.set()
            self._worker.join()
            self._worker = None

    def _new_game(self, _: Sequence[str]) -> None:
        self._finish()
        self._engine.new_game()

    def _uci(self, _: Sequence[str]) -> None:
        for text in (
            "id name zerogames nnue",
            "id author the zerogames developers",
            f"option name Hash type spin default {self._options.hash_mb} min 1 max {MAX_HASH_MB}",
            "option name Threads type spin default 1 min 1 max 1",
            f"option name EvalFile type string default {self._options.eval_file}",
            "option name UCI_Chess960 type check default false",
            "option name Clear Hash type button",
            "uciok",
        ):
            self._say(text)

    def _setoption(self, words: Sequence[str]) -> None:
        text = " ".join(words)
        name, _, value = text.removeprefix("name ").partition(" value ")
        self._finish()
        match name.strip().lower():
            case "hash":
                size = _number(value)
                if not 1 <= size <= MAX_HASH_MB:
                    raise UserError(f"Hash {value}: must be from 1 to {MAX_HASH_MB}")
                self._engine.set_hash(size)
                self._options = _Options(self._options.eval_file, size, self._options.chess960)
            case "evalfile":
                path = Path(value.strip())
                network = load_native(read_network(path))
                self._options = _Options(path, self._options.hash_mb, self._options.chess960)
                self._engine = _native.Engine(network, self._options.hash_mb)
            case "uci_chess960":
                on = value.strip().lower() == "true"
                self._options = _Options(self._options.eval_file, self._options.hash_mb, on)
            case "clear hash":
                self._engine.new_game()
            case "threads":
                if _number(value) != 1:
                    raise UserError("Threads is fixed to 1")
            case other:
                raise UserError(f"unknown option '{other[:40]}'")

    def _position(self, words: Sequence[str]) -> None:
        self._finish()
        place = words.index("moves") if "moves" in words else len(words)
        where, moves = words[:place], words[place + 1 :]
        if not where or where[0] not in ("startpos", "fen"):
            raise UserError("position: write `startpos` or `fen FEN`, then `moves ...`")
        fen = chess.STARTING_FEN if where[0] == "startpos" else " ".join(where[1:])
        self._engine.set_position(fen, list(moves), self._options.chess960)

    def _go(self, words: Sequence[str]) -> None:
        self._finish()
        numbers: dict[str, int] = {}
        infinite = "infinite" in words
        for name, value in pairwise(words):
            if name in _GO_NUMBERS:
                numbers[name] = _number(value)
        clock, increment = ("btime", "binc") if self._engine.black_to_move else ("wtime", "winc")
        time_ms = 0
        if clock in numbers:
            time_ms = max(1, numbers[clock])  # A clock that has run out still asks for a move.
        self._engine.allow()
        self._stopped.clear()

        def search() -> None:
            try:
                found = self._engine.go(
                    time_ms=time_ms,
                    increment_ms=max(0, numbers.get(increment, 0)),
                    moves_to_go=min(max(0, numbers.get("movestogo", 0)), 1000),
                    move_time_ms=max(0, numbers.get("movetime", 0)),
                    nodes=max(0, numbers.get("nodes", 0)),
                    depth=min(max(0, numbers.get("depth", 0)), 127),
                    on_info=self._report,
                )
                if infinite:
                    self._stopped.wait()
                self._say(f"bestmove {found['line'][0]}")
            except UserError as error:
                self._say(f"info string error: {error}")
                self._say("bestmove 0000")

        self._worker = threading.Thread(target=search, name="search")
        self._worker.start()

    def _report(self, info: SearchInfo) -> None:
        rate = info["nodes"] * 1000 // max(1, info["time_ms"])
        self._say(
            f"info depth {info['depth']} seldepth {info['seldepth']} "
            f"score {format_score(info['score'])} nodes {info['nodes']} nps {rate} "
            f"hashfull {info['hashfull']} time {info['time_ms']} pv {' '.join(info['line'])}"
        )

    def _bench(self, words: Sequence[str]) -> None:
        self._finish()
        depth = _number(words[0]) if words else 9
        engine = _native.Engine(load_native(read_network(self._options.eval_file)), 16)
        nodes, seconds = bench(engine, min(max(1, depth), 30))
        self._say(f"bench {nodes} nodes {round(nodes / max(seconds, 1e-3))} nodes/s")


def _number(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise UserError(f"'{text[:20]}' is not a number") from None
    return min(max(value, -(10**15)), 10**15)


def uci(eval_file: Annotated[Path, tyro.conf.Positional], /, *, hash_mb: int = 16) -> int:
    """Play under a UCI user interface.

    Args:
        eval_file: The network file.
        hash_mb: Size of the transposition table.
    """
    UciSession(eval_file, hash_mb=hash_mb, output=sys.stdout).run(sys.stdin)
    return 0
