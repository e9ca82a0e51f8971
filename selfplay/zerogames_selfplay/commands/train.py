"""Learn a game from nothing: `zerogames train --game connect4 --preset quick`."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from zerogames.command_line import Command, read_arguments
from zerogames.runs.display import Display
from zerogames.runs.signals import stop_on_signals
from zerogames.search.settings import search_preset
from zerogames_selfplay.loop.settings import TrainSettings, read_run_settings

if TYPE_CHECKING:
    from zerogames_selfplay.training import TrainingResult


def main(argv: Sequence[str]) -> int:
    """Run `zerogames train`."""
    return train(read_arguments(COMMAND, argv), Console())


COMMAND = Command(
    name="train",
    settings=TrainSettings,
    description="Learn a game from nothing: self-play, training and rating. The same folder is "
    "continued.",
    default_presets=("quick", "train"),
    earlier=lambda asked: read_run_settings(asked.folder),
    limits=("minutes", "steps", "generations", "forever"),
    search_preset=search_preset,
)


def train(settings: TrainSettings, console: Console) -> int:
    """Train until a limit, Ctrl-C or an error, and print the summary."""
    from zerogames_selfplay.training import run_training

    stop = threading.Event()
    with stop_on_signals(stop), Display(console) as display:
        result = run_training(settings, display=display, stop=stop)
    _print_end(settings, result, display, stopped=stop.is_set())
    return 0


def _print_end(
    settings: TrainSettings, result: "TrainingResult", display: Display, *, stopped: bool
) -> None:
    from zerogames_selfplay.loop.display import print_train_summary

    status, paths = result.status, result.paths
    print_train_summary(display.console, status, paths)
    missing = status.learner.missing_positions if status.learner else 0
    if missing:
        display.line(
            f"too little was played to train on: {missing:,} of "
            f"{settings.first_positions:,} positions are missing; give more time, or lower "
            "--first-positions"
        )
    if stopped:
        display.line("stopped; the same command continues from here")
    elif (status.progress or 0) >= 1:
        display.line(f"done; a larger limit continues from here, e.g. {_larger_limit(settings)}")
    display.line(f"next: zerogames report {paths.path}")
    display.line(f"      zerogames play --game {status.game} --net {paths.net}")
    display.line(
        f"      zerogames match {paths.net}@200 mcts:1000 --game {status.game} --games 100"
    )


def _larger_limit(settings: TrainSettings) -> str:
    if settings.steps is not None:
        return f"--steps {2 * settings.steps}"
    if settings.generations is not None:
        return f"--generations {2 * settings.generations}"
    return f"--minutes {2 * (settings.limit_s or 0) / 60:g}"
