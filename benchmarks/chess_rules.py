"""Chess on one core: perft, random games, planes. `python benchmarks/chess_rules.py`.

Peers are measured in the same run, turn about: Stockfish's `go perft`, and python-chess for games
and planes. JSON lines on stdout.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import chess
import numpy as np
from measure import report
from numpy.typing import NDArray
from zerogames_chess import _native

import zerogames
from zerogames.native import cpu_level

SEED = 1
RUNS = 5
DEPTH = 6
ENCODING = "lc0-classic"
OPENSPIEL_GAMES = 139_000
"""Moves/s of the same loop on OpenSpiel, measured elsewhere: three times that is the target."""
CPP = Path(__file__).resolve().parents[1] / "games" / "chess" / "cpp"

Work = Callable[[], int]


def alternate(*works: Work, clock: Callable[[], float] = time.process_time) -> list[list[float]]:
    """Units per second of each, `RUNS` times, turn about so that noise meets all.

    The CPU's clock does not count the time in which a busy machine did something else.
    """
    rates: list[list[float]] = [[] for _ in works]
    for _ in range(RUNS):
        for work, found in zip(works, rates, strict=True):
            began = clock()
            units = work()
            found.append(units / (clock() - began))
    return rates


@contextmanager
def stockfish() -> Iterator[Work | None]:
    """A running Stockfish that counts; None where there is none."""
    path = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")
    if path is None:
        yield None
        return
    with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin
        assert run.stdout

        def count() -> int:
            print(f"go perft {DEPTH}", file=run.stdin, flush=True)
            for line in run.stdout or ():
                if line.startswith("Nodes searched:"):
                    return int(line.split(":")[1])
            raise RuntimeError("Stockfish ended")

        yield count
        print("quit", file=run.stdin, flush=True)


def bench_perft() -> None:
    state = _native.State()
    with stockfish() as count:
        if count is None:
            report(
                f"chess perft({DEPTH})", alternate(lambda: state.perft(DEPTH))[0], unit="nodes/s"
            )
            return
        ours, theirs = alternate(lambda: state.perft(DEPTH), count, clock=time.perf_counter)
    report(
        f"chess perft({DEPTH})",
        ours,
        unit="nodes/s",
        peer=(f"Stockfish go perft {DEPTH}", theirs),
        target=1.0,
    )


def bench_games() -> None:
    game = zerogames.get_game("chess")

    def ours() -> int:
        draw = random.Random(SEED).random
        moves = 0
        while moves < 200_000:
            state = game.initial_state()
            while (actions := state.legal_actions()).size:
                state = state.play(actions[int(draw() * actions.size)])
                moves += 1
        return moves

    def python_chess() -> int:
        draw = random.Random(SEED).random
        moves = 0
        while moves < 2_000:
            board = chess.Board()
            while not board.is_game_over():
                legal = list(board.legal_moves)
                board.push(legal[int(draw() * len(legal))])
                moves += 1
        return moves

    rates, peer_rates = alternate(ours, python_chess)
    report(
        "chess random games through Python",
        rates,
        unit="moves/s",
        seed=SEED,
        peer=("python-chess", peer_rates),
        target=3.0 * OPENSPIEL_GAMES,
    )


def random_positions(number: int) -> list[tuple[_native.State, list[chess.Board]]]:
    """States with their last eight positions, newest first."""
    rng = random.Random(SEED)
    found: list[tuple[_native.State, list[chess.Board]]] = []
    while len(found) < number:
        state, board, past = _native.State(), chess.Board(), [chess.Board()]
        while state.result is None and len(found) < number:
            action = int(rng.choice(state.legal_actions()))
            board.push_uci(state.uci(action))
            state = state.play(action)
            past = [board.copy(stack=False), *past[:7]]
            found.append((state, past))
    return found


def encode_with_python_chess(past: list[chess.Board]) -> NDArray[np.float32]:
    """The 112 planes without the repetition planes, the quick way with NumPy."""
    now = past[0]
    us = now.turn
    words = np.zeros(104, "<u8")
    for age, board in enumerate(past):
        kinds = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
        for kind, squares in enumerate(kinds):
            words[13 * age + kind] = squares & board.occupied_co[us]
            words[13 * age + 6 + kind] = squares & board.occupied_co[not us]
    bits = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(104, 8, 8)
    planes = np.zeros((112, 8, 8), np.float32)
    planes[:104] = bits if us == chess.WHITE else bits[:, ::-1]
    planes[104] = now.has_queenside_castling_rights(us)
    planes[105] = now.has_kingside_castling_rights(us)
    planes[106] = now.has_queenside_castling_rights(not us)
    planes[107] = now.has_kingside_castling_rights(not us)
    planes[108] = us == chess.BLACK
    planes[109] = now.halfmove_clock
    planes[111] = 1
    return planes


def bench_planes() -> None:
    positions = random_positions(1000)
    states = [state for state, _ in positions]
    out = np.empty((112, 8, 8), np.float32)

    def observe() -> int:
        for _ in range(20):
            for state in states:
                state.observe(ENCODING, out)
        return 20 * len(states)

    def pack() -> int:
        for _ in range(50):
            for state in states:
                state.pack(ENCODING)
        return 50 * len(states)

    def python_chess() -> int:
        for _, past in positions:
            encode_with_python_chess(past)
        return len(positions)

    floats, packed, peer_rates = alternate(observe, pack, python_chess)
    for name, rates, target in (("float32", floats, 250_000), ("packed", packed, 1_000_000)):
        report(
            f"chess 112 planes {name} through Python",
            rates,
            unit="positions/s",
            seed=SEED,
            peer=("python-chess with NumPy", peer_rates),
            target=target,
        )


def bench_native() -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        print("no g++: native rates are left out", file=sys.stderr)
        return
    level = cpu_level()
    flags = [] if level == "baseline" else ["-march=x86-64-v3"]
    include = [f"-I{CPP}", f"-I{zerogames.get_include()}"]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "chess_bench"
        source = CPP / "chess_bench.cpp"
        subprocess.run(
            [compiler, "-std=c++20", "-O3", *flags, *include, str(source), "-o", str(program)],
            check=True,
        )
        printed = subprocess.run(
            [program], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ).stdout
    rates: dict[str, list[float]] = {}
    for line in printed.splitlines():
        name, units, seconds = line.split()
        rates.setdefault(name, []).append(int(units) / float(seconds))
    report("chess random games native", rates["random_games"], unit="moves/s", seed=SEED)
    report(
        "chess 112 planes float32 native",
        rates["observe"],
        unit="positions/s",
        seed=SEED,
        target=250_000,
    )
    report(
        "chess 112 planes packed native",
        rates["pack"],
        unit="positions/s",
        seed=SEED,
        target=1_000_000,
    )


if __name__ == "__main__":
    bench_perft()
    bench_games()
    bench_planes()
    bench_native()
