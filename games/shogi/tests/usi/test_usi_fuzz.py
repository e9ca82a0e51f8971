"""Whatever comes in whatever order, the session answers and lives on."""

import io
import random
import re
from collections.abc import Sequence

import pytest
from zerogames_shogi.shogi_game import start_sfen
from zerogames_shogi.usi import UsiDialect, UsiPosition

from zerogames.protocol import Session, SessionLimits
from zerogames.protocol.net_engine import ProtocolNetEngine
from zerogames.protocol.settings import ProtocolSettings

SFENS = (
    start_sfen("none"),
    start_sfen("two"),
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "8k/8G/8G/9/9/9/9/9/4K4 w - 1",
    "8k/9/6NG1/9/9/9/9/9/4K4 b LP 1",
    "1SGKGS3/9/RBGNSNLL1/9/9/9/9/9/4k4 b R3P 1",
    "4k4/9/9/9/9/9/9/R8/4K4 b - 1",
    "4k4/4r4/9/9/9/9/9/9/4K4 b - 1",
    "9/9/9/9/9/9/9/9/9 b - 1",
)
SOME_WORDS = """
usi isready usinewgame position go stop ponderhit setoption debug register d gameover win
startpos sfen moves name value infinite ponder searchmoves on off later
btime wtime binc winc byoyomi movestogo movetime nodes depth mate true false
MultiPV Hash USI_Hash USI_Ponder Threads MoveOverhead EnteringKingRule Cpuct Batch Clear
7g7f 3c3d 8h2b+ P*5e 0000 zz9 -1 0 1 2 99999999999999999999 1e9 nan é歩
"""
WORDS = (*SOME_WORDS.split(), "\x00", "\udcff", "9" * 400)
LIMITS = (
    *("nodes 1", "nodes 3", "depth 1", "movetime 1", "btime 1 wtime -4", "byoyomi 1"),
    *("nodes 99999999999999999999", "depth " + "9" * 400, "mate 3000000000", "perft 2", "perft x"),
    *("btime 1 wtime 1 byoyomi -9 binc 99999999999 movestogo 9999999999", "movetime nan"),
)
MOVE = r"([1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i])"
ANSWERS = re.compile(
    rf"(id |option |usiok$|readyok$|info |Nodes searched: |{MOVE}: |checkmate notimplemented$|"
    rf"bestmove (resign|win|{MOVE})( ponder {MOVE})?$)"
)
INTERNAL = re.compile("internal error|[A-Z][a-z]+Error|Traceback|playing by", re.ASCII)
"""Words of our own mistakes."""


class Judge(io.TextIOBase):
    """Reads what the engine says and checks every line."""

    def __init__(self) -> None:
        self.lines = self.bestmoves = 0
        self.allowed: set[str] = set()
        self.mistakes: list[str] = []

    def write(self, text: str) -> int:
        for line in filter(str.strip, text.splitlines()):
            self.lines += 1
            if not ANSWERS.match(line) or INTERNAL.search(line):
                self.mistakes.append(line)
            if line.startswith("bestmove"):
                self.bestmoves += 1
                if line.split()[1] not in self.allowed:
                    self.mistakes.append(f"{line} of {self.allowed}")
        return len(text)


class WatchedSession(Session[UsiPosition]):
    """Tells the judge which position each `go` is about. One search ends before the next begins."""

    def __init__(self, engine: ProtocolNetEngine, judge: Judge) -> None:
        limits = SessionLimits[UsiPosition](nodes=8)
        super().__init__(engine, UsiDialect(), judge, limits)  # type: ignore[arg-type]
        self.judge = judge
        self.searches = 0

    def _go(self, words: Sequence[str]) -> None:
        self._finish()
        legal = set(self._position.legal_moves)
        self.judge.allowed = legal or {"resign"}
        if self._position.state.may_declare:
            self.judge.allowed.add("win")
        self.searches += "perft" not in words and "mate" not in words
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
        extra = rng.choice(["", "", "searchmoves 7g7f P*5e", "ponder", "infinite", "nonsense 3"])
        return f"go {extra} {limit}" if rng.random() < 0.5 else f"go {limit} {extra}"
    if kind < 0.7:
        name = rng.choice(["MultiPV", "USI_Hash", "MoveOverhead", "EnteringKingRule", "Ponder"])
        value = rng.choice(["true", "false", "1", "2", "3", "-1", "none", "27points", "", "1 2"])
        return f"setoption name {name} value {value}"
    return rng.choice(
        ["isready", "stop", "ponderhit", "usinewgame", "usi", "", "debug on", "gameover win", "d"]
    )


def random_position(rng: random.Random) -> str:
    sfen = rng.choice(SFENS[:-1])
    moves: list[str] = []
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        legal = UsiPosition.of(sfen, moves, declares=True).legal_moves
        if not legal:
            break
        moves.append(rng.choice(legal))
    if rng.random() < 0.2:
        moves.insert(rng.randrange(len(moves) + 1), rng.choice(["7g7e", "1a1a", "q", "K*5e"]))
    if rng.random() < 0.1:
        sfen = sfen[: rng.randrange(len(sfen))]
    if rng.random() < 0.05:
        sfen = SFENS[-1]
    return f"position sfen {sfen}" + (f" moves {' '.join(moves)}" if moves else "")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_engine_survives_any_input(seed: int) -> None:
    settings = ProtocolSettings(evaluator="constant", batch=4, hash=1, threads=1)
    rng = random.Random(seed)
    judge = Judge()
    session = WatchedSession(ProtocolNetEngine("shogi", settings), judge)
    for _ in range(10_000):
        assert session.answer(random_line(rng))
    session._finish()
    assert judge.mistakes == []
    assert judge.bestmoves == session.searches
    assert judge.bestmoves > 400
    before = judge.lines
    session.answer("isready")
    assert judge.lines == before + 1
