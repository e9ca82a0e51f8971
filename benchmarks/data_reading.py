"""How fast data files become training batches, per CPU second of one core.

CPU seconds instead of wall time: reading runs in threads, and the machine may be shared. Uses the
real files beside the checkout where they are, else the small ones of the tests.
"""

import gzip
import time
from collections.abc import Callable
from pathlib import Path

import chess.pgn
import numpy as np
from measure import report
from zerogames_chess import _data

from zerogames.data.sources import Source
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.game import Game
from zerogames.registry import get_game

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
RUNS = 5


def cpu_rate(work: Callable[[], float]) -> list[float]:
    rates = []
    for _ in range(RUNS):
        start = time.process_time()
        units = work()
        rates.append(units / (time.process_time() - start))
    return sorted(rates)


def batches(path: Path, game: Game, encoding: str, *, shuffle: int = 16_384) -> float:
    # Several passes, so that setting up the buffers does not count.
    options = StreamOptions(batch_size=1024, shuffle_buffer=shuffle, epochs=4)
    source = Source([path], game, encoding=encoding)
    with SampleStream(source, None, options) as stream:
        count = sum(len(batch) for batch in stream)
    assert source.problems.count == 0, source.problems.named
    return count


def plain_chunks(paths: list[Path]) -> float:
    """What a trainer in numpy does for each record."""
    count = 0
    for path in paths:
        data = gzip.decompress(path.read_bytes())
        for start in range(0, len(data), 8356):
            policy = np.frombuffer(data, "<f4", 1858, start + 8)
            _ = np.maximum(policy, 0), policy >= 0
            bits = np.unpackbits(np.frombuffer(data, np.uint8, 832, start + 7440))
            planes = np.empty((112, 8, 8), np.float32)
            planes[:104] = bits.reshape(104, 8, 8)
            for plane, byte in enumerate(data[start + 8272 : start + 8278]):
                planes[104 + plane] = byte
            planes[110], planes[111] = 0, 1
            count += 1
    return count


def chess_benchmarks() -> None:
    game = get_game("chess")
    folder = SHARED / "chess" / "lc0-v6-chunks"
    if not folder.is_dir():
        folder = ROOT / "games" / "chess" / "tests" / "data"
    paths = sorted(folder.glob("*.gz"))
    report(
        "data: Lc0 V6 chunks to shuffled batches of 1024",
        cpu_rate(lambda: batches(folder, game, "lc0-classic")),
        unit="positions per CPU second",
        peer=(
            "numpy, record by record, without checks, shuffling and batches",
            cpu_rate(lambda: plain_chunks(paths)),
        ),
        target=20_000,
    )
    pgn = next((SHARED / "chess" / "tcec-moves").glob("*.pgn.gz"), None)
    if pgn is None:
        return
    text = gzip.decompress(pgn.read_bytes())
    few = b"\n[Event ".join(text.split(b"\n[Event ")[:15]).decode()

    def python_chess() -> float:
        import io

        stream, count = io.StringIO(few), 0
        while chess.pgn.read_game(stream) is not None:
            count += 1
        return count

    report(
        "data: PGN, moves parsed and replayed",
        cpu_rate(lambda: len(_data.read_pgn(text))),
        unit="games per CPU second",
        peer=("python-chess", cpu_rate(python_chess)),
        target=5_000,
    )
    season = next(iter(sorted((SHARED / "chess" / "tcec").glob("*13*.gz"))))
    report(
        "data: PGN with engine comments to shuffled batches of 1024",
        cpu_rate(lambda: batches(season, game, "lc0-classic")),
        unit="positions per CPU second",
    )


def go_benchmarks() -> None:
    game = get_game("go")
    text = SHARED / "go" / "leelaz-19x19-chunks" / "supervised.0.gz"
    if not text.is_file():
        text = ROOT / "games" / "go" / "tests" / "data" / "leela-selfplay.0.gz"
    report(
        "data: Leela Zero text to shuffled batches of 1024, planes leela-18",
        cpu_rate(lambda: batches(text, game, "leela-18")),
        unit="positions per CPU second",
        target=5_000,
    )
    sgf = ROOT / "games" / "go" / "tests" / "data" / "leela-selfplay.sgf"
    source = Source([sgf], game)
    record = next(source.games()).record()

    def encode() -> float:
        state = record.start_state(game)
        for action in record.actions.tolist():
            state.observe("golois-21")
            state = state.play(action)
        return len(record.actions)

    report(
        "data: SGF to batches, planes golois-21 of 19x19",
        cpu_rate(lambda: batches(sgf, game, "golois-21")),
        unit="positions per CPU second",
        peer=("the encoder alone", cpu_rate(encode)),
    )


if __name__ == "__main__":
    chess_benchmarks()
    go_benchmarks()
