"""Whether an exported net gives the answers of the net."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames.nets.evaluation import Evaluation
from zerogames.nets.model import Model


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """The largest differences that are allowed."""

    logits: float
    """The tolerance of policy logits and moves left, relative to 1 + the largest of torch's
    numbers."""
    probability: float
    """The tolerance of the probabilities of win, draw and loss."""


TOLERANCES = {
    "fp32": Tolerance(logits=1e-4, probability=1e-4),
    "fp16": Tolerance(logits=0.02, probability=0.02),
}


@dataclass(frozen=True, kw_only=True)
class Parity:
    """The largest differences between two evaluations of the same positions."""

    positions: int
    policy: float
    policy_scale: float
    """1 + the largest absolute logit."""
    wdl: float
    moves_left: float | None
    moves_left_scale: float
    same_best: float
    """Share of positions with the same best action."""

    def describe(self) -> str:
        """Describe the differences in one line."""
        text = f"largest differences from torch on {self.positions} positions: "
        text += f"policy logits {self.policy:.2g} (of {self.policy_scale - 1:.3g}), "
        text += f"win-draw-loss {self.wdl:.2g}"
        if self.moves_left is not None:
            text += f", moves left {self.moves_left:.2g}"
        return f"{text}; same best action {self.same_best:.1%}"

    def check(self, tolerance: Tolerance) -> Self:
        """Raise `ExportDiffers` if a difference is larger than the tolerance, or not a number."""
        parts = [
            ("policy logits", self.policy, tolerance.logits * self.policy_scale),
            ("win-draw-loss", self.wdl, tolerance.probability),
        ]
        if self.moves_left is not None:
            parts.append(("moves left", self.moves_left, tolerance.logits * self.moves_left_scale))
        wrong = [
            f"{name} by {value:.2g} (allowed {allowed:.2g})"
            for name, value, allowed in parts
            if not value <= allowed  # also for NaN
        ]
        if wrong:
            raise ExportDiffers(self, wrong)
        return self


class ExportDiffers(UserError):
    """An export does not give the net's answers."""

    def __init__(self, parity: Parity, wrong: Sequence[str]) -> None:
        super().__init__(f"the export differs from the net: {', '.join(wrong)}; not written")
        self.parity = parity


def torch_answers(model: Model, planes: NDArray[np.float32], *, batch: int = 64) -> Evaluation:
    """Evaluate positions with the net itself, in float32."""
    model.eval()
    parts = []
    with torch.inference_mode():
        for start in range(0, len(planes), batch):
            parts.append(model.evaluate(torch.from_numpy(planes[start : start + batch])))
    policies, wdls, moves_left = zip(*parts, strict=True)
    found = [part for part in moves_left if part is not None]
    return Evaluation(
        torch.cat(policies).numpy(),
        torch.cat(wdls).numpy(),
        torch.cat(found).numpy() if found else None,
    )


def check_analyses(
    ours: Mapping[str, NDArray[np.float32]],
    model: Model,
    planes: NDArray[np.float32],
    tolerance: Tolerance,
) -> None:
    """Raise `UserError` if an output for analysis differs by more than logits may."""
    with torch.inference_mode():
        right = {name: t.numpy() for name, t in model.analyse(torch.from_numpy(planes)).items()}
    for name, wanted in right.items():
        difference = _largest(ours[name] - wanted) if name in ours else np.inf
        if not difference <= tolerance.logits * (1 + _largest(wanted)):  # also for NaN
            raise UserError(f"the export differs from the net: {name} by {difference:.2g}")


def compare(ours: Evaluation, right: Evaluation) -> Parity:
    """Compare evaluations of the same positions; wrong shapes are a `UserError`."""
    for name, one, other in zip(Evaluation._fields, ours, right, strict=True):
        if (one is None) != (other is None) or (
            one is not None and other is not None and one.shape != other.shape
        ):
            raise UserError(f"the export has other {name} than the net; not written")
    moves_left = None
    if ours.moves_left is not None and right.moves_left is not None:
        moves_left = _largest(ours.moves_left - right.moves_left)
    best = ours.policy_logits.argmax(axis=1) == right.policy_logits.argmax(axis=1)
    return Parity(
        positions=len(right.policy_logits),
        policy=_largest(ours.policy_logits - right.policy_logits),
        policy_scale=1 + _largest(_without_missing(right.policy_logits)),
        wdl=_largest(ours.wdl - right.wdl),
        moves_left=moves_left,
        moves_left_scale=1 if right.moves_left is None else 1 + _largest(right.moves_left),
        same_best=float(best.mean()),
    )


def _without_missing(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Leave out the -1e4 that a net without a pass gives it: it would excuse any difference."""
    return logits[logits > -1e3]


def _largest(values: NDArray[np.float32]) -> float:
    return float(np.abs(values).max(initial=0))
