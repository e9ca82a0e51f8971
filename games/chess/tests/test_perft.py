import json
import re
import shutil
import subprocess
from pathlib import Path

import chess
import pytest
from zerogames_chess import _native

from zerogames.cli import main

STOCKFISH = shutil.which("stockfish", path="/usr/games:/usr/local/bin:/usr/bin:/bin")
CHESS960 = {
    int(number): nodes
    for number, nodes in json.loads(
        (Path(__file__).parent / "chess960_perft4.json").read_text()
    ).items()
}
"""perft(4) of Chess960 starts by number, as Stockfish 15.1 counts."""

KNOWN = {
    chess.STARTING_FEN: (20, 400, 8902, 197281, 4865609, 119060324),
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": (
        *(48, 2039, 97862, 4085603, 193690690),
    ),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (14, 191, 2812, 43238, 674624, 11030083),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": (
        *(6, 264, 9467, 422333, 15833292),
    ),
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (
        44,
        1486,
        62379,
        2103487,
        89941194,
    ),
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": (
        *(46, 2079, 89890, 3894594, 164075551),
    ),
}
QUICK_NODES = 12_000_000
COUNTS = [
    pytest.param(
        fen, depth, nodes, marks=() if nodes < QUICK_NODES else pytest.mark.slow, id=f"{nodes}"
    )
    for fen, known in KNOWN.items()
    for depth, nodes in enumerate(known, start=1)
]


@pytest.mark.parametrize(("fen", "depth", "nodes"), COUNTS)
def test_known_counts(fen: str, depth: int, nodes: int) -> None:
    assert _native.State.from_fen(fen).perft(depth) == nodes


@pytest.mark.parametrize("number", CHESS960)
def test_chess960_counts(number: int) -> None:
    fen = chess.Board.from_chess960_pos(number).fen()
    assert _native.State.from_fen(fen, True).perft(4) == CHESS960[number]


def plain_perft(board: chess.Board, depth: int) -> int:
    if depth == 1:
        return board.legal_moves.count()
    nodes = 0
    for move in board.legal_moves:
        board.push(move)
        nodes += plain_perft(board, depth - 1)
        board.pop()
    return nodes


CASTLING_TRAPS = [
    "8/8/8/8/8/6k1/8/rR1K3R w HB - 0 1",  # the rook on b1 shields from a1
    "4k3/8/8/8/8/8/8/rRK5 w B - 0 1",
    "4k3/8/8/8/8/8/8/1KR4r w C - 0 1",
    "2r1kr2/8/8/8/8/8/8/1RK2R2 w FBfc - 0 1",
    "1r3k1r/pppp4/8/8/8/8/4PPPP/R1K3R1 b GAhb - 0 1",
    "4k3/8/8/8/8/8/8/R3K1QR w KQ - 0 1",
    "6rk/8/8/8/8/8/8/5KR1 w G - 0 1",
    "k7/8/8/8/8/8/8/1r2BKRR w G - 0 1",  # the inner of two rooks has the right
]
EN_PASSANT_TRAPS = [
    "8/8/8/K2pP2r/8/8/8/7k w - d6 0 1",  # both pawns leave the rank
    "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",
    "8/2p5/3p4/KP5r/1R2Pp1k/8/6P1/8 b - e3 0 1",
    "4k3/8/8/3pP3/8/8/4r3/4K3 w - d6 0 1",  # in check: taking does not help
    "8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1",  # taking the pawn that gives check
    "7k/8/8/1b1pP3/2K5/8/8/8 w - d6 0 1",
    "b6k/8/8/3pP3/8/5K2/8/8 w - d6 0 1",  # the taken pawn shields a diagonal
]


@pytest.mark.parametrize("fen", [*CASTLING_TRAPS, *EN_PASSANT_TRAPS])
def test_traps_agree_with_python_chess(fen: str) -> None:
    board = chess.Board(fen, chess960=True)
    state = _native.State.from_fen(fen, True)
    moves = {state.uci(int(action)) for action in state.legal_actions()}
    assert moves == {board.uci(move) for move in board.legal_moves}
    for depth in (1, 2, 3):
        assert state.perft(depth) == plain_perft(board, depth)


@pytest.mark.parametrize("number", range(0, 960, 48))
def test_chess960_agrees_with_python_chess(number: int) -> None:
    board = chess.Board.from_chess960_pos(number)
    state = _native.State.from_fen(board.fen(), True)
    assert state.perft(3) == plain_perft(board, 3)


@pytest.mark.slow
def test_chess960_agrees_with_stockfish() -> None:
    if STOCKFISH is None:
        pytest.skip("no stockfish")
    numbers = [*CHESS960, *range(7, 960, 96)]
    fens = [chess.Board.from_chess960_pos(number).fen() for number in numbers] + CASTLING_TRAPS
    commands = ["setoption name UCI_Chess960 value true"]
    for fen in fens:
        commands += [f"position fen {fen}", "go perft 4"]
    done = subprocess.run(
        [STOCKFISH],
        input="\n".join([*commands, "quit", ""]),
        capture_output=True,
        text=True,
        check=True,
    )
    counts = [int(nodes) for nodes in re.findall(r"Nodes searched: (\d+)", done.stdout)]
    assert counts == [_native.State.from_fen(fen, True).perft(4) for fen in fens]


def test_the_command_divides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perft", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "b1a3: 400" in lines
    assert "e2e4: 600" in lines
    assert lines[-1].startswith("8902 nodes in ")
    assert "million/s" in lines[-1]


def test_the_command_takes_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    # Drawn by rule, but there are moves to count.
    assert main(["perft", "2", "--fen", "4k3/8/8/8/8/8/8/4K3 w - - 120 90"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("25 nodes")


def test_the_command_refuses_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perft", "2", "--fen", "4k3/8/8/8/8/8/8/8 w - - 0 1"]) == 2
    assert "White has 0 kings" in capsys.readouterr().err
    assert main(["perft", "0"]) == 2
