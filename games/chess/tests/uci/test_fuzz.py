"""Whatever comes in whatever order, the session answers and lives on."""

import io
import random
import re
from collections.abc import Sequence
from pathlib import Path

import chess
import pytest
from zerogames_chess.nnue.uci import NnueEngine
from zerogames_chess.uci import Session
from zerogames_chess.uci.net_engine import UciNetEngine
from zerogames_chess.uci.settings import UciSettings

from zerogames.protocol import Engine, SessionLimits

FENS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
    "7k/8/8/8/8/8/8/K7 w - - 0 1",
    "7k/8/8/8/8/8/R7/K7 w - - 100 90",
    "k7/P7/K7/8/8/8/8/7R b - - 3 60",
    "nrbknbrq/pppppppp/8/8/8/8/PPPPPPPP/1RK3RQ w GBgb - 0 1",
)
SOME_WORDS = """
uci isready ucinewgame position go stop ponderhit setoption debug register d
startpos fen moves name value infinite ponder searchmoves on off later
wtime btime winc binc movestogo movetime nodes depth mate true false
MultiPV Hash Threads Ponder MoveOverhead UCI_Chess960 UCI_ShowWDL Cpuct Batch Clear
e2e4 e7e5 e1g1 a7a8q 0000 zz9 -1 0 1 2 99999999999999999999 1e9 nan é♔
"""
WORDS = (*SOME_WORDS.split(), "\x00", "\udcff", "9" * 400)
OPTIONS = ("MultiPV", "Hash", "MoveOverhead", "UCI_Chess960", "UCI_ShowWDL", "Ponder")
LIMITS = (
    *("nodes 1", "nodes 3", "depth 1", "movetime 1", "wtime 1 btime -4"),
    *("nodes 99999999999999999999", "depth " + "9" * 400, "mate 3000000000", "perft 2", "perft x"),
    *("wtime 1 btime 1 winc -9 binc 99999999999 movestogo 99999999999999", "movetime nan"),
)
ANSWERS = re.compile(
    r"(id |option |uciok$|readyok$|info |Nodes searched: |[a-h][1-8][a-h][1-8][nbrq]?: |"
    r"bestmove (\(none\)|[a-h][1-8][a-h][1-8][nbrq]?)"
    r"( ponder [a-h][1-8][a-h][1-8][nbrq]?)?$)"
)


INTERNAL = re.compile("internal error|[A-Z][a-z]+Error|Traceback|playing by", re.ASCII)
"""Words of our own mistakes."""


class Judge(io.TextIOBase):
    """Reads what the engine says and checks every line."""

    def __init__(self) -> None:
        self.lines = self.bestmoves = 0
        self.legal: set[str] = set()
        """In the position that is searched, by python-chess."""
        self.mistakes: list[str] = []

    def write(self, text: str) -> int:
        for line in filter(str.strip, text.splitlines()):
            self.lines += 1
            if not ANSWERS.match(line) or INTERNAL.search(line):
                self.mistakes.append(line)
            if line.startswith("bestmove"):
                self.bestmoves += 1
                move = line.split()[1]
                if move not in self.legal and (self.legal or move != "(none)"):
                    self.mistakes.append(f"{line} of {self.legal}")
        return len(text)


class WatchedSession(Session):
    """Tells the judge which position each `go` is about. One search ends before the next begins."""

    def __init__(self, engine: Engine, judge: Judge) -> None:
        super().__init__(engine, judge, SessionLimits(nodes=8))  # type: ignore[arg-type]
        self.judge = judge
        self.searches = 0

    def _go(self, words: Sequence[str]) -> None:
        self._finish()
        position = self._position
        board = chess.Board(position.fen, chess960=position.chess960)
        for move in position.moves:
            board.push_uci(move)
        self.judge.legal = {board.uci(move) for move in board.legal_moves}
        self.searches += "perft" not in words
        super()._go(words)


def random_line(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        return " ".join(rng.choices(WORDS, k=rng.randrange(0, 9)))
    if kind < 0.4:
        return "".join(chr(rng.randrange(1, 0x2FF)) for _ in range(rng.randrange(0, 60)))
    if kind < 0.55:
        return random_position(rng)
    if kind < 0.62:
        limit = rng.choice(LIMITS)
        extra = rng.choice(["", "", "searchmoves e2e4 a7a8q", "ponder", "infinite", "nonsense 3"])
        return f"go {extra} {limit}" if rng.random() < 0.5 else f"go {limit} {extra}"
    if kind < 0.7:
        name = rng.choice(
            ["MultiPV", "Hash", "MoveOverhead", "UCI_Chess960", "UCI_ShowWDL", "Ponder"]
        )
        value = rng.choice(["true", "false", "1", "2", "3", "-1", "x", "", "1 2"])
        return f"setoption name {name} value {value}"
    return rng.choice(
        ["isready", "stop", "ponderhit", "ucinewgame", "uci", "", "debug on", "register later", "d"]
    )


def random_position(rng: random.Random) -> str:
    fen = rng.choice(FENS)
    board = chess.Board(fen, chess960="GB" in fen)
    moves = []
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        legal = list(board.legal_moves)
        if not legal:
            break
        moves.append(board.uci(rng.choice(legal)))
        board.push_uci(moves[-1])
    if rng.random() < 0.2:
        moves.insert(rng.randrange(len(moves) + 1), rng.choice(["e2e5", "a1a1", "q", "e7e8k"]))
    if rng.random() < 0.1:
        fen = fen[: rng.randrange(len(fen))]
    return f"position fen {fen}" + (f" moves {' '.join(moves)}" if moves else "")


def converse(engine: Engine, count: int, seed: int) -> Judge:
    rng = random.Random(seed)
    judge = Judge()
    session = WatchedSession(engine, judge)
    for _ in range(count):
        assert session.answer(random_line(rng))
    session._finish()
    assert judge.mistakes == []
    assert judge.bestmoves == session.searches
    before = judge.lines
    session.answer("isready")
    assert judge.lines == before + 1
    return judge


@pytest.mark.parametrize("seed", [1, 2])
def test_the_net_engine_survives_any_input(seed: int) -> None:
    engine = UciNetEngine(UciSettings(net=None, evaluator="constant", batch=4, hash=1, threads=1))
    judge = converse(engine, 50_000, seed)
    assert judge.bestmoves > 2_000


def test_the_nnue_engine_survives_any_input(small_nnue: Path) -> None:
    assert converse(NnueEngine(small_nnue, hash_mb=1), 10_000, 3).bestmoves > 400
