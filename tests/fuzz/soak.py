"""Runs one engine or a self-play for hours and fails when it grows.

    python tests/fuzz/soak.py selfplay [--minutes 120] [--samples FILE]
    python tests/fuzz/soak.py uci [--goes 20000] [--samples FILE]

Private resident memory, threads and open files are read every few seconds, written to FILE as JSON
lines, and shown as a table of twelve rows (done: bytes of finished shards, or searches). What comes
first, `WARM` of all samples, fills caches and loads libraries. After that the second half must have
no more threads and files than the first, and at most `MOST_GROWTH_MIB` more memory. Moves of the
engine are checked by python-chess.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import chess
from protocols import Process, figures, make_net

NET = "res_3x3_2x16"
WARM = 0.25
MOST_GROWTH_MIB = 16
"""Game lengths vary, and the free lists of malloc with them."""
EVERY_S = 5.0
ROWS = 12
COLUMNS = ("seconds", "done", "mib", "threads", "files")
Sample = tuple[float, int, int, int, int]


def sample(pid: int, began: float, done: int) -> Sample:
    """What the process has now."""
    return (round(time.monotonic() - began, 1), done, *figures(pid))


def play_itself(minutes: float, folder: Path) -> Iterator[Sample]:
    """Self-play of chess with a small net; games are counted in its shards and journal."""
    net, run = make_net("chess", folder, NET), folder / "run"
    words = ["selfplay", "--game", "chess", "--net", str(net), "--out", str(run)]
    words += ["--minutes", str(minutes), "--search.cache-mebibytes", "16", "--lanes", "2"]
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "zerogames", *words], stdout=subprocess.DEVNULL
    ) as process:
        try:
            while process.poll() is None:
                try:
                    yield sample(process.pid, began, written_bytes(run))
                except (OSError, KeyError):
                    break  # It ended between two lines.
                time.sleep(EVERY_S)
        finally:
            process.terminate()
    if process.returncode:
        raise SystemExit(f"self-play ended with code {process.returncode}")


def written_bytes(run: Path) -> int:
    """The size of the finished shards."""
    return sum(path.stat().st_size for path in (run / "shards").glob("*.parquet"))


def answer_goes(goes: int, folder: Path) -> Iterator[Sample]:
    """Searches of every kind in positions of random games, by `uci` with a small net."""
    source = random.Random(1)
    net = make_net("chess", folder, NET)
    words = ["uci", "--net", str(net), "--hash", "16", "--threads", "1", "--nodes", "32"]
    process, began, board = Process(words, folder), time.monotonic(), chess.Board()
    last = -EVERY_S
    for done in range(goes):
        if board.is_game_over() or len(board.move_stack) > 150 or source.random() < 0.01:
            board.reset()
            process.send(["ucinewgame"] * (source.random() < 0.5) + ["setoption name Clear Hash"])
        board.push(source.choice(list(board.legal_moves)))
        if board.is_game_over():
            board.reset()
        moves = " ".join(move.uci() for move in board.move_stack)
        limit = source.choice(("nodes 24", "movetime 15", "depth 2", "infinite", "", "ponder"))
        if source.random() < 0.01:
            process.send([f"setoption name MultiPV value {source.randrange(1, 5)}"])
        process.send([f"position startpos moves {moves}", f"go {limit}"])
        if limit in ("infinite", "ponder"):
            process.send([source.choice(("stop", "isready", "d")), "stop"])
        while not (line := process.line()).startswith("bestmove"):
            pass
        move = chess.Move.from_uci(line.split()[1])
        if move not in board.legal_moves:
            raise SystemExit(f"{line} in {board.fen()}")
        board.push(move)
        if time.monotonic() - began > last + EVERY_S:
            last = time.monotonic() - began
            yield sample(process.pid, began, done + 1)
    yield sample(process.pid, began, goes)
    if code := process.close():
        raise SystemExit(f"the engine ended with code {code}")


def growth(samples: list[Sample]) -> list[str]:
    """What is larger in the second half than in the first, of what comes after warming up."""
    rest = samples[int(len(samples) * WARM) :]
    first, second = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    if not first:
        return ["too few samples: a longer run is needed"]
    found = []
    for column, most in ((2, MOST_GROWTH_MIB), (3, 0), (4, 0)):
        before, after = (max(row[column] for row in half) for half in (first, second))
        if after > before + most:
            found.append(f"{COLUMNS[column]} grew from {before} to {after}")
    return found


def main() -> int:
    """Run one soak, print its table and say what grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["selfplay", "uci"])
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--goes", type=int, default=20_000)
    parser.add_argument("--samples", type=Path)
    given = parser.parse_args()
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        playing = given.kind == "selfplay"
        source = play_itself(given.minutes, folder) if playing else answer_goes(given.goes, folder)
        for row in source:
            samples.append(row)
            if given.samples:
                with given.samples.open("a") as file:
                    file.write(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for row in [*samples[:: max(1, len(samples) // ROWS)], samples[-1]]:
        print(f"| {' | '.join(map(str, row))} |")
    found = growth(samples)
    print("; ".join(found) or "nothing grew", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
