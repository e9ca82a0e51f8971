"""The journal of games: whether killed writers lose anything, and what it costs.

    python benchmarks/journal.py --kills 10000

kills a journal's writer with SIGKILL again and again. It prints how many writers were killed, in
how many cases in the middle of an entry, how many entries they had acknowledged, and how many of
these are missing or wrong: 0, or the exit code is 1.

    python benchmarks/journal.py --cost connect4 --games 500

plays games with a new net of the game's default architecture and compares CPU times, all of one
process: that of self-play, and that of keeping the same games with a journal and without one.
"""

import argparse
import os
import random
import signal
import statistics
import struct
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from measure import report

from zerogames.runs.journal import Journal, read_journal

_NUMBER = struct.Struct("<Q")
_LARGEST = 1 << 18
_LONGEST_LIFE_S = 0.01


def content(block: bytes, number: int) -> bytes:
    """Entry `number`: its number and bytes that nothing else has in that place."""
    rng = random.Random(number)
    start = rng.randrange(len(block) // 2)
    return _NUMBER.pack(number) + block[start : start + rng.randrange(_LARGEST)]


def write_forever(path: Path, block: bytes, first: int, acknowledge: int) -> None:
    """Append entries in batches of one to three; tell the number of each that is on disk."""
    journal = Journal(path)
    while True:
        numbers = range(first, first + 1 + first % 3)
        journal.append([content(block, number) for number in numbers])
        os.write(acknowledge, b"".join(map(_NUMBER.pack, numbers)))
        first = numbers.stop


def kill_one(path: Path, block: bytes, rng: random.Random) -> tuple[int, int, bool]:
    """Kill one writer; how many entries it acknowledged, how many are lost, and if one is torn."""
    first = rng.randrange(1 << 40)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        write_forever(path, block, first, write_end)
    os.close(write_end)
    told = b"" if rng.random() < 0.1 else os.read(read_end, _NUMBER.size)  # Mostly once it writes.
    time.sleep(rng.random() * _LONGEST_LIFE_S)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(read_end, "rb") as pipe:
        told += pipe.read()
    acknowledged = len(told) // _NUMBER.size
    contents = read_journal(path) if path.exists() else None
    entries = contents.entries if contents else []
    expected = [content(block, first + index) for index in range(len(entries))]
    right = 0
    while right < len(entries) and entries[right] == expected[right]:
        right += 1
    wrong = len(entries) - right + (contents.num_damaged if contents else 0)
    return (
        acknowledged,
        max(0, acknowledged - right) + wrong,
        bool(contents and contents.torn_bytes),
    )


def measure_cost(game: str, games: int) -> None:
    """Print the CPU time of self-play and of its files, per position."""
    from zerogames_selfplay import SelfplaySettings, run_selfplay
    from zerogames_selfplay.players.game_chunk import GameChunk
    from zerogames_selfplay.players.game_store import GameStore

    from zerogames.data.shard import read_shard, write_shard

    with tempfile.TemporaryDirectory(prefix="zerogames-") as name:
        folder = Path(name)
        warm_up = SelfplaySettings(game=game, out=folder / "run", games=1, lanes=1, seed=2)
        run_selfplay(warm_up)
        begin, started = time.process_time(), time.perf_counter()
        run = run_selfplay(replace(warm_up, games=games))
        cpu_s, seconds = time.process_time() - begin, time.perf_counter() - started
        records = [record for path in run.shards for record in read_shard(path)]
        # As many games as end in a second on an idle core.
        batch = max(1, round(games / cpu_s))
        costs: dict[str, list[float]] = {"with": [], "without": []}
        for number in range(7):
            store = GameStore(folder, f"{number}", positions=8192)
            begin = time.process_time()
            for first in range(0, games, batch):
                store.put(GameChunk.of(records[first : first + batch]))
                store.sync()
            store.flush()
            costs["with"].append(time.process_time() - begin)
            begin = time.process_time()
            write_shard(folder / f"{number}.parquet", records)
            costs["without"].append(time.process_time() - begin)
    positions = run.counts.positions
    micros = {name: [1e6 * cost / positions for cost in found] for name, found in costs.items()}
    report(f"{game}: positions of self-play", [positions / seconds], unit="positions/s")
    report(f"{game}: CPU of self-play", [1e6 * cpu_s / positions], unit="us/position")
    for name, found in micros.items():
        report(f"{game}: CPU of the files {name} a journal", found, unit="us/position")
    more = statistics.median(micros["with"]) - statistics.median(micros["without"])
    share = 100 * more / (1e6 * cpu_s / positions)
    report(f"{game}: cost of the journal", [share], unit="% of the CPU of self-play", target=1)


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--cost", metavar="GAME")
    parser.add_argument("--games", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.cost:
        measure_cost(arguments.cost, arguments.games)
        return 0
    rng = random.Random(arguments.seed)
    block = rng.randbytes(2 * _LARGEST)
    acknowledged = lost = torn = 0
    with tempfile.TemporaryDirectory(prefix="zerogames-") as folder:
        for _ in range(arguments.kills):
            path = Path(folder) / "one.journal"
            one = kill_one(path, block, rng)
            path.unlink(missing_ok=True)
            acknowledged, lost, torn = acknowledged + one[0], lost + one[1], torn + one[2]
    report("journal: writers killed", [arguments.kills], unit="kills", seed=arguments.seed)
    report("journal: killed in an entry", [torn], unit="kills", seed=arguments.seed)
    report("journal: acknowledged", [acknowledged], unit="entries", seed=arguments.seed)
    report("journal: lost", [lost], unit="entries", seed=arguments.seed, target=0)
    return 1 if lost or not acknowledged else 0


if __name__ == "__main__":
    raise SystemExit(main())
