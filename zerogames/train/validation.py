"""The papers' figures on positions that were not trained on, also by phase of the game."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from zerogames.data.sample import SampleBatch
from zerogames.nets import Model, Output, Targets, compute_losses, compute_metrics
from zerogames.train.targets import make_targets

PHASES = ("opening", "middle", "end")
"""Thirds of each game by moves."""


@torch.no_grad()
def validate(
    model: Model, batches: Iterable[SampleBatch], *, search_value_share: float = 0.0
) -> dict[str, float]:
    """Means over all positions, each with its weight.

    Args:
        model: Is evaluated where it is, with its running batch-norm statistics.
        batches: The positions; read once.
        search_value_share: As in training.

    Returns:
        `positions`, `loss`, `policy_loss`, `value_loss`, `moves_left_loss` (if the net has that
        head), `policy_accuracy` (the likeliest legal move is the target's), `value_mse` (of win
        minus loss) and `value_mse_quarter` (the same divided by 4); then, where it is known how far
        the game was, the same for each phase, e.g. `opening/policy_accuracy`.
    """
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
                _add(sums, weights, prefix, rows.to(device), output, targets, model)
    finally:
        model.train(was_training)
    means = {name: sums[name] / weights[name] for name in sums if weights[name] > 0}
    counts = {name: sums[name] for name in sums if name.endswith("positions")}
    return counts | {name: mean for name, mean in means.items() if name not in counts}


def _groups(batch: SampleBatch) -> Iterator[tuple[str, Tensor]]:
    """Prefixes of names, with 1 for each row that belongs there and 0 for others."""
    plies, left = torch.from_numpy(batch.plies), torch.from_numpy(batch.moves_left)
    yield "", torch.ones(len(batch))
    known = (plies >= 0) & (left >= 0)
    share = plies / (plies + left).clamp(min=1)
    phase = (share * len(PHASES)).long().clamp(max=len(PHASES) - 1)
    for number, name in enumerate(PHASES):
        yield f"{name}/", (known & (phase == number)).float()


def _add(
    sums: dict[str, float],
    weights: dict[str, float],
    prefix: str,
    rows: Tensor,
    output: Output,
    targets: Targets,
    model: Model,
) -> None:
    count = int(rows.sum())
    if count == 0:
        return
    assert targets.weights is not None
    chosen = replace(targets, weights=targets.weights * rows)
    weight = float(chosen.weights.sum())  # type: ignore[union-attr]
    losses = compute_losses(output, chosen, model.spec)
    metrics = compute_metrics(output, chosen, model.spec)
    sums[f"{prefix}positions"] += count
    figures = {
        "loss": losses.total,
        "policy_loss": losses.policy,
        "value_loss": losses.value,
        **metrics._asdict(),
    }
    for name, figure in figures.items():
        sums[prefix + name] += weight * float(figure)
        weights[prefix + name] += weight
    if losses.moves_left is not None and targets.moves_left is not None:
        known = float((targets.weights * rows * (targets.moves_left >= 0)).sum())
        sums[f"{prefix}moves_left_loss"] += known * float(losses.moves_left)
        weights[f"{prefix}moves_left_loss"] += known
