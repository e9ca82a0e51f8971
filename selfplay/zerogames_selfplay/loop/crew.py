"""Those who work on a run: a learner, a judge and players, in this process or as Ray's actors."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from zerogames.game import Game
from zerogames_selfplay.loop.driver import Players, Studying, train_in_turns
from zerogames_selfplay.loop.folder import TrainFolder
from zerogames_selfplay.loop.judge import Judge, JudgeHere
from zerogames_selfplay.loop.learner import Learner
from zerogames_selfplay.loop.rating import Rater
from zerogames_selfplay.loop.run_state import Run
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.players.lane import Share
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.players.worker import Worker


@dataclass(frozen=True, kw_only=True)
class Crew:
    """What a run needs to be worked on."""

    learner: Studying
    judge: Judge
    make_players: Callable[[Path], Players]
    """With the net they begin with."""
    train: Callable[[Run, Players], None]
    """Until a limit is reached or somebody stops the run."""


@contextlib.contextmanager
def crew_for(settings: TrainSettings, game: Game, folder: TrainFolder) -> Iterator[Crew]:
    """Ray's actors if workers are asked for, else this process."""
    if settings.workers or settings.ray_address:
        from zerogames_selfplay.ray.ray_crew import crew_on_ray

        with crew_on_ray(settings, folder) as crew:
            yield crew
        return
    learner = Learner.open(settings, game, folder)
    rater = Rater(game, settings, threads=os.cpu_count() or 1)

    def make_players(net: Path) -> Players:
        return Worker(
            settings.selfplay(),
            net=net,
            folder=folder.shards,
            prefix=f"{folder.session:04d}",
            share=Share(
                first=0, step=1, games=None, seed=derive_seed(settings.seed, folder.session)
            ),
        )

    try:
        yield Crew(
            learner=learner,
            judge=JudgeHere(rater),
            make_players=make_players,
            train=lambda run, players: train_in_turns(run, learner, players),
        )
    finally:
        learner.close()
