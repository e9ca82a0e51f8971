"""Training with Ray's actors against training in one process: trained positions per second.

    python benchmarks/training_loop.py [--workers 2] [--generations 6]

Both do the same rounds of self-play and training; the first round, with all starting, is left out.
"""

import argparse
import dataclasses
import os
import tempfile
from pathlib import Path

from measure import report
from zerogames_selfplay import TrainSettings, run_training
from zerogames_selfplay.commands.train import COMMAND

from zerogames.command_line import read_arguments
from zerogames.runs.metrics_log import read_lines


def loop_rate(settings: TrainSettings) -> float:
    """Positions per second from the end of the first round to the end of the last."""
    with tempfile.TemporaryDirectory() as folder:
        run = run_training(dataclasses.replace(settings, out=Path(folder) / "run"))
        lines = read_lines(run.paths.metrics)
        first, last = lines[0], lines[-1]
        return float(last["positions"] - first["positions"]) / (last["time_s"] - first["time_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--positions", type=int, default=8192)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument(
        "--threads", type=int, default=0, help="of the trainer; 1 on a busy machine"
    )
    options = parser.parse_args()
    arguments = ["--game", "connect4", "--preset", "quick", "--rating.share", "0"]
    settings = dataclasses.replace(
        read_arguments(COMMAND, [*arguments, "--trainer.threads", str(options.threads)]),
        minutes=None,
        generations=options.generations,
        generation_positions=options.positions,
        first_positions=options.positions,
    )
    here: list[float] = []
    actors: list[float] = []
    for _ in range(options.runs):  # interleaved, since machines are noisy
        here.append(loop_rate(settings))
        actors.append(loop_rate(dataclasses.replace(settings, workers=options.workers)))
    report(
        f"train connect4 {settings.net} {options.workers} Ray workers",
        sorted(actors),
        unit="positions/s",
        peer=("the loop in one process", sorted(here)),
        target=0.85,
    )


if __name__ == "__main__":
    main()
