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
    means = _Means()
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    try:
        for batch in batches:
            output = model(torch.from_numpy(batch.planes).to(device))
            targets = make_targets(batch, search_value_share, device)
            for prefix, rows in _groups(batch):
                if rows.any():
                    means.add(prefix, rows.to(device), output, targets, model.spec)
    finally:
        model.train(was_training)
    return means.table()


def _groups(batch: SampleBatch) -> Iterator[tuple[str, Tensor]]:
    """Prefixes of names, with 1 for each row that belongs there and 0 for others."""
    plies, left = torch.from_numpy(batch.plies), torch.from_numpy(batch.moves_left)
    yield "", torch.ones(len(batch))
    known = (plies >= 0) & (left >= 0)
    share = plies / (plies + left).clamp(min=1)
    phase = (share * len(PHASES)).long().clamp(max=len(PHASES) - 1)
    for number, name in enumerate(PHASES):
        yield f"{name}/", (known & (phase == number)).float()


class _Means:
    """Weighted means of figures, and counts of positions, by name."""

    def __init__(self) -> None:
        self._counts: dict[str, float] = defaultdict(float)
        self._sums: dict[str, float] = defaultdict(float)
        self._weights: dict[str, float] = defaultdict(float)

    def add(
        self, prefix: str, rows: Tensor, output: Output, targets: Targets, spec: NetSpec
    ) -> None:
        """Add the figures of those rows of a batch that are 1, under names with the prefix."""
        assert targets.weights is not None
        row_weights = targets.weights * rows
        chosen = replace(targets, weights=row_weights)
        losses = compute_losses(output, chosen, spec)
        metrics = compute_metrics(output, chosen, spec)
        self._counts[f"{prefix}positions"] += int(rows.sum())
        figures = {
            "loss": losses.total,
            "policy_loss": losses.policy,
            "value_loss": losses.value,
            **metrics._asdict(),
        }
        weight = float(row_weights.sum())
        for name, figure in figures.items():
            self._add(prefix + name, figure, weight)
        if losses.moves_left is not None and targets.moves_left is not None:
            known = float((row_weights * (targets.moves_left >= 0)).sum())
            self._add(f"{prefix}moves_left_loss", losses.moves_left, known)

    def _add(self, name: str, figure: Tensor, weight: float) -> None:
        self._sums[name] += weight * float(figure)
        self._weights[name] += weight

    def table(self) -> dict[str, float]:
        """All counts and means."""
        weights = self._weights
        means = {name: self._sums[name] / weights[name] for name in weights if weights[name] > 0}
        return self._counts | means
