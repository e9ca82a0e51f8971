"""Self-play against the raw evaluator, and two Ray workers against one.

Only positions that the net evaluated count, no cache hits; raw = the best batch between 16 and 256
with the same threads.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from measure import report
from zerogames_selfplay.commands.selfplay import COMMAND
from zerogames_selfplay.players.players import PlayersJob
from zerogames_selfplay.players.settings import SelfplaySettings
from zerogames_selfplay.players.worker import Worker

import zerogames
from zerogames.command_line import read_arguments
from zerogames.evaluate import open_evaluator
from zerogames.nets import build_model, save_net

BATCHES = (16, 32, 64, 128, 256)


def raw_rate(game: zerogames.Game, net: Path, *, threads: int, batch: int, seconds: float) -> float:
    """Positions per second of `threads` one-thread evaluators side by side."""
    planes = np.zeros((batch, *game.spec.observation_shape), np.float32)
    planes[:] = game.initial_state().observe(next(iter(game.encodings)))
    counts = [0] * threads
    end = time.perf_counter() + seconds

    def work(index: int) -> None:
        evaluator = open_evaluator(game, net=net, threads=1)
        evaluator.evaluate(planes)
        while time.perf_counter() < end:
            evaluator.evaluate(planes)
            counts[index] += batch

    lanes = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    start = time.perf_counter()
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    return sum(counts) / (time.perf_counter() - start)


def worker_rate(settings: SelfplaySettings, net: Path, folder: Path, seconds: float) -> float:
    """Evaluations per second of self-play in this process."""
    worker = Worker(PlayersJob(settings=settings, net=net, folder=folder, prefix="x", seed=1))
    worker.poll(1.0)
    before, start = worker.counts().evaluations, time.perf_counter()
    worker.poll(seconds)
    rate = (worker.counts().evaluations - before) / (time.perf_counter() - start)
    worker.close()
    return rate


def ray_rate(settings: SelfplaySettings, net: Path, folder: Path, seconds: float) -> float:
    """Evaluations per second of Ray workers."""
    from zerogames_selfplay.ray.players import RayPlayers

    job = PlayersJob(settings=settings, net=net, folder=folder, prefix="x", seed=1)
    players = RayPlayers(job)
    while len(players.pids()) < settings.workers or players.counts().evaluations == 0:
        players.poll()
    before, start = players.counts().evaluations, time.perf_counter()
    while time.perf_counter() - start < seconds:
        players.poll()
    rate = (players.counts().evaluations - before) / (time.perf_counter() - start)
    players.close()
    return rate


def repeat(work: Callable[[], float], runs: int) -> list[float]:
    return sorted(work() for _ in range(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="chess")
    parser.add_argument("--net", default=None, help="architecture; the game's default if left out")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--skip-ray", action="store_true")
    options = parser.parse_args()
    game = zerogames.get_game(options.game)
    default = "mob_krb_6x96" if game.spec.name == "chess" else game.default_net
    name = options.net or default
    with tempfile.TemporaryDirectory() as folder:
        net = Path(folder) / "net.safetensors"
        save_net(net, build_model(game.parse_net(name), game))
        settings = read_arguments(COMMAND, ["--game", options.game, "--forever"])
        for threads in (1, 2):
            rates = {
                batch: repeat(
                    lambda b=batch, t=threads: raw_rate(  # type: ignore[misc]
                        game, net, threads=t, batch=b, seconds=options.seconds / 8
                    ),
                    2,
                )
                for batch in BATCHES
            }
            best = max(rates, key=lambda batch: max(rates[batch]))
            raw: list[float] = []
            ours: list[float] = []
            for _ in range(options.runs):  # interleaved, since machines are noisy
                raw.append(
                    raw_rate(game, net, threads=threads, batch=best, seconds=options.seconds / 2)
                )
                lanes = replace(settings, lanes=threads)
                ours.append(worker_rate(lanes, net, Path(folder) / "shards", options.seconds))
            report(
                f"selfplay {options.game} {name} {threads} threads",
                sorted(ours),
                unit="evaluations/s",
                peer=(f"raw evaluator, batch {best}", sorted(raw)),
                target=0.9,
            )
        if not options.skip_ray:
            shards = Path(folder) / "ray"
            one = repeat(
                lambda: ray_rate(replace(settings, workers=1), net, shards, options.seconds), 3
            )
            two = repeat(
                lambda: ray_rate(replace(settings, workers=2), net, shards, options.seconds), 3
            )
            report(
                f"selfplay {options.game} {name} two Ray workers",
                two,
                unit="evaluations/s",
                peer=("one Ray worker", one),
                target=1.8,
            )


if __name__ == "__main__":
    main()
