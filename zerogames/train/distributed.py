"""Several learners as one, through Ray Train: each takes its part of every batch."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from zerogames.errors import UserError
from zerogames.train.checkpoint import read_state
from zerogames.train.replay_window import ReplayWindow
from zerogames.train.trainer import Trainer
from zerogames.train.window_settings import WindowSettings

REPORT = "report"
"""Under this name a result's `extra` holds the means of what the steps reported."""


@dataclass(frozen=True, kw_only=True)
class LearnJob:
    """Some steps on the shards of a window; all paths must be seen by every learner."""

    checkpoint: Path
    """The trainer to start from, as `Trainer.save` wrote it."""
    result: Path
    """Where the trainer is saved after the last step."""
    shards: tuple[Path, ...]
    """Oldest first."""
    steps: int
    window: WindowSettings
    """`batch_size` is that of all learners together."""
    seed: int = 0
    """Of the draws."""
    first_draw: int = 0
    """Draws made before, so that jobs one after another do not repeat them."""


def learn(job: LearnJob, *, share: tuple[int, int] = (0, 1)) -> dict[str, float]:
    """Make the steps as one of several learners; the first saves the result.

    Returns:
        Means of what `Trainer.train_step` reports.
    """
    trainer, extra = Trainer.load(job.checkpoint)
    means: dict[str, float] = {}
    spec = trainer.model.spec
    with ReplayWindow(
        trainer.game,
        spec.encoding,
        job.window,
        job.seed,
        share=share,
        with_ends=bool(spec.ends),
    ) as window:
        for path in job.shards:
            if not window.add(path):
                raise UserError(": ".join(window.problems.named[-1]))
        window.num_draws = job.first_draw
        for number in range(1, job.steps + 1):
            report = trainer.train_step(window.draw())
            means = {
                name: means.get(name, 0.0) + (value - means.get(name, 0.0)) / number
                for name, value in report.items()
            }
    if share[0] == 0:
        trainer.save(job.result, {**extra, REPORT: dict(means)})
    return means


def learn_together(
    job: LearnJob, *, learners: int, use_gpu: bool = False, cpus_per_learner: float = 1
) -> dict[str, float]:
    """Run a job on several Ray Train workers (gloo on CPUs, nccl on GPUs), in a running Ray.

    The result is that of one learner with the whole batch, up to rounding and batch norms, which
    each learner computes over its own part.
    """
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    if job.window.batch_size % learners:
        raise UserError(
            f"a batch of {job.window.batch_size} does not divide among {learners} learners"
        )
    absolute = replace(
        job,
        checkpoint=job.checkpoint.absolute(),
        result=job.result.absolute(),
        shards=tuple(path.absolute() for path in job.shards),
    )
    with tempfile.TemporaryDirectory() as folder:  # Ray Train wants a place of its own
        TorchTrainer(
            _learn_on_worker,
            train_loop_config={"job": absolute},
            torch_config=TorchConfig(backend="nccl" if use_gpu else "gloo"),
            scaling_config=ScalingConfig(
                num_workers=learners,
                use_gpu=use_gpu,
                resources_per_worker={"CPU": cpus_per_learner},
            ),
            run_config=RunConfig(storage_path=folder, name="learn"),
        ).fit()
    report = read_state(job.result).extra[REPORT]
    assert isinstance(report, dict)
    return {name: float(value) for name, value in report.items() if isinstance(value, float)}


def _learn_on_worker(config: dict[str, LearnJob]) -> None:
    from ray import train

    context = train.get_context()
    learn(config["job"], share=(context.get_world_rank(), context.get_world_size()))
