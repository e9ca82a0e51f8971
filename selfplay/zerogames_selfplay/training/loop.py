"""The loop in one process, in phases: play, then learn, then play on with the new net.

On few cores phases waste nothing: the lanes rest between two batches while the trainer has all
cores, and their games go on where they were.
"""

import time

from zerogames_selfplay.lane import Share
from zerogames_selfplay.seeds import derive_seed
from zerogames_selfplay.training.learner import Learner
from zerogames_selfplay.training.run import Run
from zerogames_selfplay.worker import Worker

_POLL_S = 0.2
_SHOW_STEPS = 20
"""Training steps between two looks at the panel."""


def train_here(run: Run, learner: Learner) -> None:
    """Play and learn until a limit is reached or somebody stops the run."""
    settings = run.settings
    net = run.first_net(learner.write_net())
    worker = Worker(
        settings.selfplay(),
        net=net,
        folder=run.folder.shards,
        prefix=f"{run.folder.session:04d}",
        share=Share(
            first=0, step=1, games=None, seed=derive_seed(settings.seed, run.folder.session)
        ),
    )
    try:
        while not run.finished:
            worker.resume()
            before, begin = worker.counts(), time.monotonic()
            _play(run, worker, _wanted(run, learner))
            worker.pause()
            seconds = time.monotonic() - begin
            run.status.selfplay_s += seconds
            played = worker.counts().since(before)
            if not run.stop.is_set():
                _learn(run, learner, worker)
            if run.report.net is not None:
                run.note_generation(played, seconds)
                if run.rating_is_due() and not run.finished:
                    run.rate()
                    learner.best_step = run.best_step
        run.show("stopping", "writing the last games")
    finally:
        worker.close()
        run.status.selfplay = worker.counts()


def _wanted(run: Run, learner: Learner) -> int:
    """Positions to play before the next round of training."""
    return max(run.settings.generation_positions, learner.missing_positions)


def _play(run: Run, worker: Worker, wanted: int) -> None:
    first = worker.counts().learnable
    begin, before_s = time.monotonic(), run.status.selfplay_s
    while not run.finished:
        counts = worker.counts()
        played = counts.learnable - first
        if played >= wanted:
            break
        run.status.selfplay = counts
        run.status.selfplay_s = before_s + time.monotonic() - begin
        missing = run.report.missing_positions
        why = "the first training step" if missing else "the next round of training"
        run.show("playing", f"{played:,} of {wanted:,} positions for {why}")
        worker.poll(_POLL_S)
    run.status.selfplay_s = before_s


def _learn(run: Run, learner: Learner, worker: Worker) -> None:
    def keep_on(steps: int, metrics: dict[str, float]) -> bool:
        if steps % _SHOW_STEPS == 1:
            run.status.metrics = metrics
            run.show("learning", f"step {learner.step:,}, {learner.due_steps:,} more are due")
        return not run.stop.is_set()

    run.show("learning", "taking in new games")
    report = learner.study(
        elapsed_s=run.status.elapsed_s,
        progress=run.progress,
        max_steps=run.steps_left,
        keep_on=keep_on,
    )
    run.take_notes(report)
    if report.net is not None and run.passes_gate(report.net, report.step):
        worker.use_net(run.adopt(report.net, report.step))
