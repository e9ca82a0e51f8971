"""Kill parts of a training run at random, and prove that it loses no game that it counted.

    python benchmarks/chaos.py --minutes 30 --interval 15 --out /tmp/chaos

starts a Ray cluster of three nodes on this machine and a training of Connect Four, and kills, with
SIGKILL and at random moments with a mean interval of so many seconds: a worker, the learner, the
rater, a whole node, or the driver. What a user would restart is restarted: the node and the
command. At the end the command is stopped as Ctrl-C does, and everything is read: every session
must have on disk at least the games that it had shown as counted, no game may be there twice, the
steps of the checkpoints must never fall, the learner must have learnt from every game, and no
unfinished file and no process may be left. The same command continues in the same folder, and the
figures are those of all its parts. Lines of JSON: one for each kill in `kills.jsonl`, and the sums.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from measure import report
from rich.console import Console

from zerogames.runs.display import Display, Frame

KINDS = ("worker", "learner", "rater", "node", "driver")
_TITLES = {
    "worker": "ray::SelfplayActor",
    "learner": "ray::LearnerActor",
    "rater": "ray::RaterActor",
}
_WORKER_NODES = 2
_START_S = 300.0


class Told(Display):
    """Prints the number of games that a person would see as counted in this session."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))
        self._last = 0

    def show(self, frame: Frame) -> None:
        """See `Display.show`."""
        games = next(row[1] for row in frame.rows if row[0] == "self-play")
        number = int(games.split(", ")[1].removesuffix(" games").replace(",", ""))
        if number > self._last:
            self._last = number
            print(number, flush=True)


def drive(folder: Path, address: str) -> None:
    """The command under test."""
    from zerogames_selfplay import TrainSettings, run_training
    from zerogames_selfplay.loop.settings import RatingSettings

    from zerogames.runs.signals import stop_on_signals
    from zerogames.search.settings import PoolSettings, search_preset
    from zerogames.train import TrainerSettings

    settings = TrainSettings(
        game="connect4",
        net="res_3x3_1x8",
        out=folder,
        forever=True,
        workers="auto",
        ray_address=address,
        generation_positions=1000,
        first_positions=1000,
        checkpoint_s=10,
        search=search_preset("gumbel", simulations=8, cache_mebibytes=1),
        pool=PoolSettings(parallel_games=16),
        trainer=TrainerSettings(batch_size=32, warmup_steps=4, threads=1),
        rating=RatingSettings(visits=4, pairs=4, anchors=("random",), perfect=False),
    )
    stop = threading.Event()
    with stop_on_signals(stop):
        run_training(settings, display=Told(), stop=stop)


class Driver:
    """A process of the command; keeps what it told last."""

    def __init__(self, folder: Path, address: str) -> None:
        self.shown = 0
        command = [sys.executable, __file__, "--drive", address, "--out", str(folder.parent)]
        with (folder.parent / "driver.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith(b"\n"):
                self.shown = int(line)

    def end(self, number: int, timeout_s: float) -> int:
        """Send a signal, and return the games that it had told."""
        self.process.send_signal(number)
        code = self.process.wait(timeout_s)
        self._thread.join()
        expected = -number if number == signal.SIGKILL else 0
        if code != expected:
            raise SystemExit(f"the driver ended with {code}; see driver.log")
        return self.shown


def processes(mark: str, title: str = "") -> list[int]:
    """Processes that were started by this program, with a title."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            if (folder / "cmdline").read_bytes().decode(errors="replace").startswith(title):
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid()]


def sessions(folder: Path) -> int:
    """Sessions that have begun."""
    try:
        return len(json.loads((folder / "run.json").read_text())["sessions"])
    except FileNotFoundError:
        return 0


def newest_step(folder: Path) -> int:
    """The step of the newest checkpoint."""
    names = [path.name for path in (folder / "checkpoints").glob("step-*")]
    return max((int(name[5:]) for name in names if name[5:].isdecimal()), default=0)


class Chaos:
    """A run, its cluster, and who dies next."""

    def __init__(self, out: Path, mark: str, seed: int) -> None:
        from ray.cluster_utils import Cluster

        self.out, self.run, self.mark = out, out / "run", mark
        self.rng = random.Random(seed)
        self.lines = out / "kills.jsonl"
        self.cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
        self.nodes = [self.cluster.add_node(num_cpus=1) for _ in range(_WORKER_NODES)]
        self.driver = Driver(self.run, self.cluster.address)
        self.session = sessions(self.run)

    def note(self, **line: object) -> None:
        """Append a line that the last part of the run reads."""
        with self.lines.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def wait_for_games(self) -> None:
        """Wait until the session has shown games: then everything runs."""
        deadline = time.monotonic() + _START_S
        while not self.driver.shown:
            if self.driver.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the driver does not play; see driver.log")
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill something that is there."""
        kind = self.rng.choice(KINDS)
        step = newest_step(self.run)
        if kind == "driver":
            shown = self.driver.end(signal.SIGKILL, 60)
            self.note(kind=kind, session=self.session, shown=shown, step=step)
            self.driver = Driver(self.run, self.cluster.address)
            self.session += 1
            self.wait_for_games()
            return
        if kind == "node":
            node = self.nodes.pop(self.rng.randrange(len(self.nodes)))
            self.cluster.remove_node(node, allow_graceful=False)
            self.nodes.append(self.cluster.add_node(num_cpus=1))
        else:
            pids = processes(self.mark, _TITLES[kind])
            if not pids:
                return
            os.kill(self.rng.choice(pids), signal.SIGKILL)
        self.note(kind=kind, session=self.session, step=step)

    def close(self) -> None:
        """Stop the command in good order, and the cluster."""
        shown = self.driver.end(signal.SIGTERM, 300)
        self.note(kind="stop", session=self.session, shown=shown, step=newest_step(self.run))
        self.cluster.shutdown()


def verify(out: Path, mark: str) -> int:
    """Compare what was shown with what is there; print sums; the number of faults."""
    from zerogames.data.shard import read_shard, shard_paths

    lines = [json.loads(line) for line in (out / "kills.jsonl").read_text().splitlines()]
    kills = Counter(line["kind"] for line in lines if line["kind"] != "stop")
    on_disk: Counter[int] = Counter()
    seeds: set[int] = set()
    twice = 0
    run = out / "run"
    for path in shard_paths(run / "shards"):
        for game in read_shard(path):
            on_disk[int(path.name[:4])] += 1
            twice += game.seed in seeds
            seeds.add(game.seed)
    shown = {line["session"]: line["shown"] for line in lines if "shown" in line}
    lost = sum(max(0, number - on_disk[session]) for session, number in shown.items())
    steps = [line["step"] for line in lines]
    falls = sum(later < earlier for earlier, later in itertools.pairwise(steps))
    state = json.loads((run / f"checkpoints/step-{steps[-1]:08d}/trainer.json").read_text())
    unlearnt = len(seeds) - state["state"]["extra"]["window"]["total_games"]
    unfinished = len(list(run.rglob("*.tmp"))) + len(list(run.rglob("*.journal")))
    unfinished += len(list((run / "set-aside").glob("*")))
    orphans = len(processes(mark))
    for kind in KINDS:
        report(f"chaos: kills of a {kind}", [kills[kind]], unit="kills")
    report("chaos: kills", [kills.total()], unit="kills")
    report("chaos: shown as counted", [sum(shown.values())], unit="games")
    report("chaos: on disk", [len(seeds)], unit="games")
    report("chaos: training", [steps[-1]], unit="steps")
    faults = {
        "lost": lost,
        "there twice": twice,
        "games not learnt": abs(unlearnt),
        "falls of the step": falls,
        "unfinished or damaged files": unfinished,
        "orphan processes": orphans,
    }
    for name, number in faults.items():
        report(f"chaos: {name}", [number], unit="", target=0)
    return sum(faults.values())


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--interval", type=float, default=15, help="mean seconds between kills")
    parser.add_argument("--out", type=Path, default=Path("/tmp/chaos"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--drive", metavar="ADDRESS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(options.out / "run", options.drive)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    # All processes of Ray and of the command inherit it.
    mark = f"ZEROGAMES_CHAOS={os.getpid()}"
    os.environ["ZEROGAMES_CHAOS"] = str(os.getpid())
    os.environ.setdefault("RAY_worker_niceness", "0")
    begin = time.monotonic()
    chaos = Chaos(options.out, mark, options.seed)
    try:
        chaos.wait_for_games()
        while time.monotonic() < begin + 60 * options.minutes:
            time.sleep(min(4 * options.interval, chaos.rng.expovariate(1 / options.interval)))
            chaos.kill()
        chaos.close()
    finally:
        if chaos.driver.process.poll() is None:
            chaos.driver.process.kill()
        with contextlib.suppress(Exception):
            chaos.cluster.shutdown()
    time.sleep(5)
    return 1 if verify(options.out, mark) else 0


if __name__ == "__main__":
    raise SystemExit(main())
