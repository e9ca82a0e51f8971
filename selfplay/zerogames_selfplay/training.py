"""A run of training, as the library offers it: self-play, rounds of training, and ratings."""

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rich.console import Console

from zerogames.config import to_table
from zerogames.game import Game
from zerogames.registry import get_game
from zerogames.runs.disk import name_disk_errors
from zerogames.runs.display import Display
from zerogames.runs.folder import RunFolder, RunPaths
from zerogames.runs.game_files import compact_journals
from zerogames_selfplay.loop.backend import Backend, open_local_backend
from zerogames_selfplay.loop.rating import rating_anchors
from zerogames_selfplay.loop.run_state import RunState
from zerogames_selfplay.loop.settings import KIND, TrainSettings
from zerogames_selfplay.loop.status import Status
from zerogames_selfplay.players.players import PlayersJob
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.players.worker import check_players


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """The state of a run after a session."""

    paths: RunPaths
    status: Status


def run_training(
    settings: TrainSettings,
    *,
    display: Display | None = None,
    stop: threading.Event | None = None,
) -> TrainingResult:
    """Train in a run's folder until a limit is reached; what was learnt is on disk then.

    Args:
        settings: A refused setting raises `UserError` and leaves the folder as it was.
        display: Shows the progress; by default nothing does.
        stop: Set it, from another thread or a signal handler, to end the run early.
    """
    settings.check()
    game = get_game(settings.game)
    anchors = rating_anchors(game, settings.rating)
    check_players(settings.selfplay())
    stop = stop or threading.Event()
    table = to_table(settings)
    with (
        name_disk_errors(settings.folder),
        RunFolder(settings.folder, kind=KIND, game=game.spec.identity, settings=table) as folder,
        _open_backend(settings, game, folder.paths, stop) as backend,
    ):
        folder.begin()
        for part in (folder.paths.shards, folder.paths.checkpoints, folder.paths.nets):
            part.mkdir(exist_ok=True)
        notes = compact_journals(folder.paths.shards, set_aside=folder.paths.set_aside)
        run = RunState(
            settings,
            folder,
            backend.learner,
            anchors=anchors,
            display=display or Display(Console(quiet=True)),
            stop=stop,
        )
        run.greet(notes)
        _train(run, folder, backend)
        return TrainingResult(paths=folder.paths, status=run.status)


def _open_backend(
    settings: TrainSettings, game: Game, paths: RunPaths, stop: threading.Event
) -> AbstractContextManager[Backend]:
    if settings.workers or settings.ray_address:
        from zerogames_selfplay.ray.backend import open_ray_backend

        return open_ray_backend(settings, paths)
    return open_local_backend(settings, game, paths, stop)


def _train(run: RunState, folder: RunFolder, backend: Backend) -> None:
    learner, settings = backend.learner, run.settings
    net = run.first_net(learner.write_net())
    if not run.finished:
        job = PlayersJob(
            settings=settings.selfplay(),
            net=net,
            folder=folder.paths.shards,
            prefix=f"{folder.session:04d}",
            seed=derive_seed(settings.seed, folder.session),
        )
        players = backend.start_players(job)
        driver = backend.new_driver(run, players)
        try:
            driver.train()
            run.show("stopping", "writing the last games")
        finally:
            players.close()
            run.status.selfplay = players.counts()
        driver.finish_ratings()
        driver.report_ratings()
    learner.finish(run.status.elapsed_s)
    run.note_report(learner.report())
