"""The papers' figures on positions that were not trained on, also by phase of the game."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from zerogames.data.sample import SampleBatch
from zerogames.nets import Model, NetSpec, Output, Targets, compute_losses, compute_metrics
from zerogames.train.targets import make_targets

PHASES = ("opening", "middle", "end")
"""Thirds of each game by moves."""


@torch.no_grad()
def validate(
    model: Model, batches: Iterable[SampleBatch], *, search_value_share: float = 0.0
) -> dict[str, float]:
    """Means over all positions, each with its weight; `batches` are read once.

    The model is evaluated where it is, with its running batch-norm statistics.

    Returns:
        `positions`, `loss`, `policy_loss`, `value_loss`, `moves_left_loss` (if the net has that
        head), `policy_accuracy` (the likeliest legal move is the target's), `value_mse` (of win
        minus loss) and `value_mse_quarter` (the same divided by 4); then, where it is known how far
        the game was, the same for each phase, e.g. `opening/policy_accuracy`.
    """
    counts: dict[str, float] = defaultdict(float)
    sums: dict[str, float] = defaultdict(float)
    weights: dict[str, float] = defaultdict(float)
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    try:
        for batch in batches:
            output = model(torch.from_numpy(batch.planes).to(device))
            targets = make_targets(batch, search_value_share, device)
            for prefix, rows in _groups(batch):
                if not rows.any():
                    continue
                counts[f"{prefix}positions"] += int(rows.sum())
                for name, figure, weight in _figures(output, targets, rows.to(device), model.spec):
                    sums[prefix + name] += weight * float(figure)
                    weights[prefix + name] += weight
    finally:
        model.train(was_training)
    return counts | {name: sums[name] / weight for name, weight in weights.items() if weight > 0}


def _groups(batch: SampleBatch) -> Iterator[tuple[str, Tensor]]:
    """Prefixes of names, with 1 for each row that belongs there and 0 for others."""
    plies, left = torch.from_numpy(batch.plies), torch.from_numpy(batch.moves_left)
    yield "", torch.ones(len(batch))
    known = (plies >= 0) & (left >= 0)
    share = plies / (plies + left).clamp(min=1)
    phase = (share * len(PHASES)).long().clamp(max=len(PHASES) - 1)
    for number, name in enumerate(PHASES):
        yield f"{name}/", (known & (phase == number)).float()


def _figures(
    output: Output, targets: Targets, rows: Tensor, spec: NetSpec
) -> Iterator[tuple[str, Tensor, float]]:
    """Names, means over those rows of a batch that are 1, and the weights of these means."""
    assert targets.weights is not None
    row_weights = targets.weights * rows
    chosen = replace(targets, weights=row_weights)
    losses = compute_losses(output, chosen, spec)
    weight = float(row_weights.sum())
    yield "loss", losses.total, weight
    yield "policy_loss", losses.policy, weight
    yield "value_loss", losses.value, weight
    for name, figure in compute_metrics(output, chosen, spec)._asdict().items():
        yield name, figure, weight
    if losses.moves_left is not None and targets.moves_left is not None:
        known = float((row_weights * (targets.moves_left >= 0)).sum())
        yield "moves_left_loss", losses.moves_left, known
