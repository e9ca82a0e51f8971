"""The crew as Ray actors: workers that play, a learner, and a rater.

On one machine the workers rest while the learner has all cores, as in one process. On a cluster all
play while the learner learns; when it falls behind by more than two rounds, they wait for it.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import ray

from zerogames_selfplay.loop.crew import Crew
from zerogames_selfplay.loop.driver import Players, adopt_if_good, note_best, train_in_turns
from zerogames_selfplay.loop.folder import TrainFolder
from zerogames_selfplay.loop.run_state import Run
from zerogames_selfplay.loop.settings import TrainSettings
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.ray.learner import RayLearner
from zerogames_selfplay.ray.players import RayWorkers, start_ray
from zerogames_selfplay.ray.rater import RayJudge

_CALL_S = 0.2
"""Workers report so often: short, since a pause waits for it."""
_ASK_S = 1.0
"""The learner looks for new shards so often."""
_ROUNDS_BEHIND = 2
"""So far may the learner fall behind before the workers wait for it."""


@contextlib.contextmanager
def crew_on_ray(settings: TrainSettings, folder: TrainFolder) -> Iterator[Crew]:
    """Actors on a local Ray, or on the cluster at `ray_address`."""
    workers = max(1, settings.workers)
    owns_ray = not ray.is_initialized()
    if owns_ray:
        # One more each for the learner and the rater; in turns they do not need them at once.
        start_ray(settings.ray_address, num_cpus=workers + 2)
    in_turns = settings.ray_address is None
    try:
        threads = settings.trainer.threads or ((os.cpu_count() or 1) if in_turns else 1)
        learner = RayLearner(settings, folder, threads=threads)

        def make_players(net: Path) -> Players:
            return RayWorkers(
                settings.selfplay(),
                net=net,
                folder=folder.shards,
                prefix=f"{folder.session:04d}",
                seed=derive_seed(settings.seed, folder.session),
                call_s=_CALL_S,
            )

        def train(run: Run, players: Players) -> None:
            if in_turns:
                train_in_turns(run, learner, players)
            else:
                train_at_once(run, learner, players)

        try:
            yield Crew(
                learner=learner, judge=RayJudge(settings), make_players=make_players, train=train
            )
        finally:
            learner.close()
    finally:
        if owns_ray:
            ray.shutdown()


def train_at_once(run: Run, learner: RayLearner, players: Players) -> None:
    """Let workers and learner run beside each other until a limit or a stop."""
    settings = run.settings
    round_positions = settings.generation_positions
    round_steps = max(1, int(round_positions * settings.reuse / settings.trainer.batch_size))
    known, noted, noted_at = run.report.positions, players.counts(), time.monotonic()
    ask_at, resting = 0.0, False
    while not run.finished:
        if not learner.is_studying and time.monotonic() >= ask_at:
            learner.begin_study(
                elapsed_s=run.status.elapsed_s,
                progress=run.progress,
                max_steps=run.steps_left,
                min_steps=round_steps,
            )
            ask_at = time.monotonic() + _ASK_S
        players.poll(_CALL_S)
        run.judge.watch(run)
        counts = run.status.selfplay = players.counts()
        run.status.restarts = players.restarts + learner.restarts
        run.status.selfplay_s = time.monotonic() - run.status.start_s
        if learner.is_studying and (report := learner.poll(0.0)) is not None:
            run.take_notes(report)
            if report.net is not None:
                adopt_if_good(run, players)
                now = time.monotonic()
                run.note_generation(counts.since(noted), now - noted_at)
                noted, noted_at = counts, now
                run.judge.follow(run)
                note_best(run, learner)
        behind = known + counts.learnable - run.report.positions
        if resting != (behind > _ROUNDS_BEHIND * round_positions):
            resting = not resting
            (players.pause if resting else players.resume)()
        run.show(*_doing(run, behind, round_positions, resting=resting))
    if learner.is_studying:
        learner.stop()
        while (report := learner.poll(1.0)) is None:
            run.show("stopping", "waiting for the learner's last step")
        run.take_notes(report)


def _doing(run: Run, behind: int, round_positions: int, *, resting: bool) -> tuple[str, str]:
    if resting:
        return "learning", f"self-play waits: {behind:,} positions are not learnt yet"
    if run.report.missing_positions:
        return "playing", f"{run.report.missing_positions:,} positions before the first step"
    return "playing and learning", f"{behind:,} of {round_positions:,} positions for the next round"
