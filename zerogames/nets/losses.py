"""What training minimises, and the figures it reports.

Targets and outputs are in the side to move's view. Losses are means over the batch, weighted if
the targets have weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zerogames.game import EndTarget
from zerogames.nets.layers import BatchNorm
from zerogames.nets.model import Model, Output, win_draw_loss
from zerogames.nets.spec import NetSpec

ILLEGAL_LOGIT = -1e10
MOVES_LEFT_SCALE = 20.0
MOVES_LEFT_DELTA = 10.0
"""The error in plies beyond which the moves-left loss grows linearly."""


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The targets of a batch."""

    policy: Tensor
    """Probabilities `[B, A]`; negative for an illegal action, as in Lc0's data."""
    value: Tensor
    """Win, draw, loss `[B, 3]`."""
    moves_left: Tensor | None = None
    """Plies to the end `[B]`; negative where unknown: such rows do not count."""
    legal: Tensor | None = None
    """Bool `[B, A]`; without it the policy's signs tell."""
    weights: Tensor | None = None
    """`[B]`: how much each position counts, in losses and metrics; by default all the same."""
    ends: Mapping[str, Tensor] = field(default_factory=dict)
    """The end targets by name: `[B, H * W]` from -1 to 1, or `[B, 1]`."""
    ends_known: Tensor | None = None
    """`[B]`: 1 where `ends` are known, else 0."""


class Losses(NamedTuple):
    """The parts, unweighted, and their weighted sum."""

    total: Tensor
    policy: Tensor
    value: Tensor
    moves_left: Tensor | None


class Metrics(NamedTuple):
    """The figures that are reported beside the losses."""

    policy_accuracy: Tensor
    """Share of positions where the likeliest legal action is the target's."""
    value_mse: Tensor
    """The mean squared error of win minus loss, which spans [-1, 1]."""
    value_mse_quarter: Tensor
    """The mean squared error divided by 4, as Lc0 and the papers report it."""


def mask_illegal(logits: Tensor, policy_target: Tensor, legal: Tensor | None = None) -> Tensor:
    """Logits `[B, A]` with illegal actions out of reach."""
    allowed = policy_target >= 0 if legal is None else legal
    return logits.masked_fill(~allowed, ILLEGAL_LOGIT)


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of `[B]`; 0 if no row has any weight."""
    if weights is None:
        return values.mean()
    return (values * weights).sum() / weights.sum().clamp(min=1e-12)


def policy_loss(
    logits: Tensor, target: Tensor, legal: Tensor | None = None, weights: Tensor | None = None
) -> Tensor:
    """Cross-entropy over the legal actions."""
    log_p = F.log_softmax(mask_illegal(logits, target, legal), dim=1)
    return weighted_mean(-(target.clamp(min=0) * log_p).sum(1), weights)


def value_loss(
    value_logits: Tensor, target: Tensor, spec: NetSpec, weights: Tensor | None = None
) -> Tensor:
    """Cross-entropy, mean squared error or binary cross-entropy, as the net says."""
    if spec.value == "wdl":
        return weighted_mean(-(target * F.log_softmax(value_logits, dim=1)).sum(1), weights)
    raw = value_logits.squeeze(1)
    if spec.value == "scalar":
        errors = (torch.tanh(raw) - (target[:, 0] - target[:, 2])).square()
    else:
        win = target[:, 0] + target[:, 1] / 2
        if spec.value_loss == "binary":
            errors = F.binary_cross_entropy_with_logits(raw, win, reduction="none")
        else:
            errors = (torch.sigmoid(raw) - win).square()
    return weighted_mean(errors, weights)


def moves_left_loss(
    plies: Tensor,
    target: Tensor,
    kind: Literal["huber", "mse"] = "huber",
    weights: Tensor | None = None,
) -> Tensor:
    """Huber (beyond 10 plies linear) or squared error, on plies divided by 20."""
    scaled, wanted = plies / MOVES_LEFT_SCALE, target / MOVES_LEFT_SCALE
    if kind == "mse":
        errors = (scaled - wanted).square()
    else:
        delta = MOVES_LEFT_DELTA / MOVES_LEFT_SCALE
        errors = F.huber_loss(scaled, wanted, delta=delta, reduction="none")
    known = (target >= 0).to(errors.dtype)
    return weighted_mean(errors, known if weights is None else known * weights)


def end_losses(output: Output, targets: Targets, ends: Sequence[EndTarget]) -> dict[str, Tensor]:
    """The unweighted loss of each head for training only that has a target."""
    weights = targets.ends_known
    if weights is not None and targets.weights is not None:
        weights = weights * targets.weights
    found = {}
    for end in ends:
        if end.name not in (output.ends or {}) or end.name not in targets.ends:
            continue
        raw, wanted = (output.ends or {})[end.name], targets.ends[end.name]
        if end.per_cell:
            errors = F.binary_cross_entropy_with_logits(raw, (1 + wanted) / 2, reduction="none")
        else:
            errors = F.huber_loss(raw, wanted, delta=end.delta, reduction="none")
        found[end.name] = weighted_mean(errors.mean(1), weights)
    return found


@dataclass(frozen=True, kw_only=True)
class LossSettings:
    """How the losses of the heads make one loss."""

    policy_weight: float = 1.0
    value_weight: float = 1.0
    """It is multiplied by the net's own."""
    moves_left_weight: float = 1.0
    moves_left_loss: Literal["huber", "mse"] = "huber"


def compute_losses(
    output: Output, targets: Targets, spec: NetSpec, settings: LossSettings | None = None
) -> Losses:
    """All losses and their weighted sum."""
    settings = settings or LossSettings()
    weights = targets.weights
    policy = policy_loss(output.policy_logits, targets.policy, targets.legal, weights)
    value = value_loss(output.value_logits, targets.value, spec, weights)
    total = settings.policy_weight * policy + settings.value_weight * spec.value_weight * value
    plies = None
    if output.moves_left is not None and targets.moves_left is not None:
        kind = settings.moves_left_loss
        plies = moves_left_loss(output.moves_left, targets.moves_left, kind, weights)
        total = total + settings.moves_left_weight * plies
    return Losses(total, policy, value, plies)


@torch.no_grad()
def compute_metrics(output: Output, targets: Targets, spec: NetSpec) -> Metrics:
    """Accuracy and value errors of a batch."""
    masked = mask_illegal(output.policy_logits, targets.policy, targets.legal)
    hits = (masked.argmax(1) == targets.policy.argmax(1)).float()
    wdl = win_draw_loss(output.value_logits, spec.value)
    errors = (wdl[:, 0] - wdl[:, 2]) - (targets.value[:, 0] - targets.value[:, 2])
    mse = weighted_mean(errors.square(), targets.weights)
    return Metrics(weighted_mean(hits, targets.weights), mse, mse / 4)


def decayed_parameters(model: Model) -> list[nn.Parameter]:
    """The parameters that L2 applies to: the weights of all convolutions and dense layers.

    Lc0's recipe adds the biases of the policy's and the value's output layers.
    """
    found = [
        weight
        for part in model.modules()
        if not isinstance(part, BatchNorm | nn.LayerNorm)
        and isinstance(weight := getattr(part, "weight", None), nn.Parameter)
    ]
    if model.spec.convention == "lc0":
        outputs = (
            getattr(model.policy, "dense", None) or getattr(model.policy, "conv2", None),
            getattr(model.value, "output", None),
        )
        found += [
            bias
            for part in outputs
            if isinstance(bias := getattr(part, "bias", None), nn.Parameter)
        ]
    return found


def l2_loss(model: Model) -> Tensor:
    """The net's `l2` times the sum of squares of `decayed_parameters`."""
    squares = torch.stack([weight.square().sum() for weight in decayed_parameters(model)])
    return model.spec.l2 * squares.sum()


def optimizer_groups(model: Model) -> list[dict[str, object]]:
    """Parameter groups whose weight decay equals `l2_loss` in SGD, without computing it."""
    decayed = decayed_parameters(model)
    ids = {id(parameter) for parameter in decayed}
    free = [parameter for parameter in model.parameters() if id(parameter) not in ids]
    return [
        {"params": decayed, "weight_decay": 2 * model.spec.l2},
        {"params": free, "weight_decay": 0.0},
    ]
