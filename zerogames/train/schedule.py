"""The learning rate over the steps."""

import math

from zerogames.train.settings import TrainerSettings

WARMUP_START = 0.05
"""Share of the learning rate that the first step has."""


def learning_rate_at(
    settings: TrainerSettings, step: int, *, progress: float | None = None
) -> float:
    """The learning rate of a step, counted from 0.

    `progress` is the share of the cosine that is over, 0 to 1, for runs that end by the clock; by
    default it follows from `step`.
    """
    rate = settings.learning_rate
    if settings.schedule == "steps":
        factors = settings.factors
        for number, boundary in enumerate(settings.boundaries):
            if step >= boundary:
                rate *= factors[min(number, len(factors) - 1)]
    elif settings.schedule == "cosine":
        if progress is None:
            length = max(1, settings.total_steps - settings.warmup_steps)
            progress = (step - settings.warmup_steps) / length
        share = (1 + math.cos(math.pi * min(1.0, max(0.0, progress)))) / 2
        rate = settings.final_learning_rate + (rate - settings.final_learning_rate) * share
    if step < settings.warmup_steps:
        rate *= WARMUP_START + (1 - WARMUP_START) * step / settings.warmup_steps
    return rate
