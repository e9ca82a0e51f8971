"""Self-play that is killed again and again; what it had shown as counted must be on disk.

Called with a folder, the number of kills and a seed. Processes are forked before anything has run,
so that a life does not begin with seconds of imports.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from rich.console import Console
from zerogames_selfplay import SelfplaySettings, run_selfplay

import zerogames.data.shard  # noqa: F401
from zerogames.runs.display import Display, Frame
from zerogames.runs.game_files import game_files, read_games
from zerogames.search.settings import PoolSettings, search_preset


class Told(Display):
    """Writes the number of games that a person would see to a pipe."""

    def __init__(self, pipe: int) -> None:
        super().__init__(Console(quiet=True))
        self._pipe = pipe

    def show(self, frame: Frame) -> None:
        os.write(self._pipe, int(frame.line.split(" games")[0]).to_bytes(8, "little"))


def settings(out: Path) -> SelfplaySettings:
    """Games of a few milliseconds; shards of some hundred."""
    return SelfplaySettings(
        game="connect4",
        evaluator="random",
        out=out,
        forever=True,
        lanes=1,
        shard_positions=6000,
        sync_s=0.05,
        search=search_preset("gumbel", simulations=2, cache_mebibytes=1),
        pool=PoolSettings(parallel_games=8),
    )


def live(out: Path, rng: random.Random) -> int:
    """Play in a child until it is killed; the games that it showed."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            run_selfplay(settings(out), display=Told(write_end))
        finally:
            os._exit(1)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        shown = 0
        while not shown:
            shown = int.from_bytes(pipe.read(8), "little")
        time.sleep(rng.random())
        os.kill(pid, signal.SIGKILL)
        rest = pipe.read()
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    last = len(rest) // 8 * 8
    return int.from_bytes(rest[last - 8 : last], "little") if last else shown


def seeds(out: Path) -> list[int]:
    """The seed of every game on disk: no two games have the same."""
    found = []
    for path in game_files(out):
        records, problem = read_games(path)
        assert not problem
        found += [record.seed for record in records]
    return found


def main() -> None:
    """See the module."""
    out, kills, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    shown = 0
    kept: set[int] = set()
    for _ in range(kills):
        shown += live(out, rng)
        found = seeds(out)
        assert len(set(found)) == len(found) >= shown, (len(found), shown)
        assert kept <= set(found)
        kept = set(found)
    print(json.dumps({"shown": shown, "kept": len(kept)}))


if __name__ == "__main__":
    main()
