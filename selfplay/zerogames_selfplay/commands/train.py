"""Learn a game from nothing: `zerogames train --game connect4 --preset quick`."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from safetensors import SafetensorError

from zerogames.command_line import Command, read_arguments
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.registry import get_game
from zerogames.runs.signals import stop_on_signals
from zerogames.search.settings import search_preset
from zerogames_selfplay.loop.display import print_train_summary
from zerogames_selfplay.loop.folder import (
    TrainFolder,
    open_folder,
    read_run_settings,
    run_path,
)
from zerogames_selfplay.loop.run_state import Run
from zerogames_selfplay.loop.settings import TrainSettings

if TYPE_CHECKING:
    from zerogames_selfplay.loop.crew import Crew


def main(argv: Sequence[str]) -> int:
    """Run `zerogames train`."""
    return run_training(read_arguments(COMMAND, argv), Console())


def _earlier(asked: TrainSettings) -> TrainSettings | None:
    path = run_path(asked)
    return read_run_settings(path) if path.is_dir() else None


COMMAND = Command(
    name="train",
    settings=TrainSettings,
    description="Learn a game from nothing: self-play, training and rating. The same folder is "
    "continued.",
    default_presets=("quick", "train"),
    earlier=_earlier,
    limits=("minutes", "steps", "generations", "forever"),
    search_preset=search_preset,
)


def run_training(settings: TrainSettings, console: Console) -> int:
    """Train until a limit, Ctrl-C or an error; what was learnt is on disk afterwards."""
    settings.check()
    game = get_game(settings.game)
    folder = None
    try:
        folder = open_folder(settings, game)
        return _train(settings, game, folder, console)
    except (OSError, SafetensorError) as error:
        where = folder.path if folder else run_path(settings)
        raise _disk_error(error, where) from None


def _train(settings: TrainSettings, game: Game, folder: TrainFolder, console: Console) -> int:
    from zerogames_selfplay.loop.crew import crew_for
    from zerogames_selfplay.loop.driver import note_best

    with crew_for(settings, game, folder) as crew:
        learner = crew.learner
        run = Run(
            settings,
            game,
            folder,
            console,
            learner.report(),
            net_name=learner.net_name,
            judge=crew.judge,
        )
        _greet(run)
        with stop_on_signals(run.stop), run.panel:
            try:
                _work(run, crew)
                note_best(run, learner)
                learner.finish(run.status.elapsed_s)
                run.take_notes(learner.report())
            finally:
                run.journal.close()
    return _end(run, console)


def _work(run: Run, crew: "Crew") -> None:
    if run.finished:
        return
    players = crew.make_players(run.first_net(crew.learner.write_net()))
    try:
        crew.train(run, players)
        run.show("stopping", "writing the last games")
    finally:
        players.close()
        run.status.selfplay = players.counts()
    crew.judge.finish(run)


def _greet(run: Run) -> None:
    search = run.settings.search
    report = run.report
    begun = f"going on at step {report.step:,}" if report.step else "a new run"
    run.panel.line(
        f"{run.game.spec.identity}: net {run.status.net}, {search.algorithm} with "
        f"{search.simulations} simulations; {begun} in {run.folder.path}"
    )
    run.take_notes(report)


def _end(run: Run, console: Console) -> int:
    print_train_summary(console, run.status, run.folder)
    report, folder = run.report, run.folder

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    if report.missing_positions:
        say(
            f"too little was played to train on: {report.missing_positions:,} of "
            f"{run.settings.first_positions:,} positions are missing; give more time, or lower "
            "--first-positions"
        )
    if run.stop.is_set():
        say("stopped; the same command goes on from here")
    elif (run.progress or 0) >= 1:
        say(f"done; a larger limit goes on from here, e.g. {_more(run)}")
    say(f"next: zerogames report {folder.path}")
    say(f"      zerogames play --game {run.game.spec.identity} --net {folder.net}")
    say(
        f"      zerogames match {folder.net}@200 mcts:1000 --game {run.game.spec.identity} "
        "--games 100"
    )
    return 0


def _more(run: Run) -> str:
    settings = run.settings
    if settings.steps is not None:
        return f"--steps {2 * settings.steps}"
    if settings.generations is not None:
        return f"--generations {2 * settings.generations}"
    return f"--minutes {2 * (settings.limit_s or 0) / 60:g}"


def _disk_error(error: OSError | SafetensorError, path: Path) -> UserError:
    full = "No space left" in str(error) or (
        isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    )
    if full:
        return UserError(
            f"the disk of {path} is full; what was written is whole. "
            "Make space, and the same command goes on"
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return UserError(f"{path}: {reason}")
