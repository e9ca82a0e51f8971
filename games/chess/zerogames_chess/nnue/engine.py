"""The alpha-beta engine: what a search tells, and the fixed benchmark that signs a version."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from zerogames.memory import require_mebibytes
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.inference import load_native
from zerogames_chess.nnue.network import read_network

MATE_SCORE = 32_000
_MATE_BOUND = MATE_SCORE - 256
CENTIPAWN = 361
"""Units of the network per 100 centipawns as printed, which mean even chances to win."""


class SearchInfo(TypedDict):
    """State of a search after an iteration; scores are the side to move's."""

    rank: int
    """The rank among the lines that are wanted, from 1."""
    depth: int
    seldepth: int
    score: int
    nodes: int
    time_ms: int
    hashfull: int
    line: list[str]


class SearchLimits(TypedDict, total=False):
    """What a search may spend; 0 is no such limit."""

    soft_ms: int
    """No further iteration begins after this."""
    move_time_ms: int
    """Is never exceeded."""
    nodes: int
    depth: int
    lines: int
    """How many of the best moves are wanted, each with a line; 1 by default."""
    moves: Sequence[str]
    """The moves to choose from, as UCI; by default all."""


BENCH_FENS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "8/8/1p1k2p1/p1prp2p/P2n3P/6P1/1P1R1PK1/4R3 b - - 5 49",
    "2r3k1/pp3pp1/4p2p/3pP3/1b1P4/1P2BN2/P4PPP/2R3K1 w - - 2 24",
    "8/5k2/3p4/1p1Pp2p/pP2Pp1P/P4P1K/8/8 b - - 99 50",
    "6k1/5p2/6p1/8/7p/8/6PP/6K1 b - - 0 1",
)
BENCH_DEPTH = 9


def load_engine(path: Path, *, hash_mb: int = 16) -> _native.Engine:
    """Make an engine with the network of a file."""
    require_mebibytes("hash", hash_mb)
    return _native.Engine(load_native(read_network(path)), hash_mb)


def bench(engine: _native.Engine, depth: int = BENCH_DEPTH) -> tuple[int, float]:
    """Search fixed positions to a fixed depth.

    Returns:
        The number of nodes, which is the same on every machine for one network and version of the
        search, and the seconds it took.
    """
    nodes, milliseconds = 0, 0
    for fen in BENCH_FENS:
        engine.new_game()
        engine.set_position(fen, [])
        found = engine.go(depth=depth)
        nodes += found["nodes"]
        milliseconds += found["time_ms"]
    return nodes, milliseconds / 1000


def moves_to_mate(score: int) -> int | None:
    """Own moves to mate, negative when the side to move is mated; None for other scores."""
    if abs(score) < _MATE_BOUND:
        return None
    plies = MATE_SCORE - abs(score)
    return (plies + 1) // 2 if score > 0 else -(plies // 2)


def format_score(score: int) -> str:
    """A score as UCI writes it: `cp 13`, `mate 3`."""
    mate = moves_to_mate(score)
    return f"cp {round(score * 100 / CENTIPAWN)}" if mate is None else f"mate {mate}"
