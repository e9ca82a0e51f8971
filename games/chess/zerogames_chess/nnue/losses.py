"""Win probabilities and the two losses: `eval` (labels) and `pqr` (moves)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from zerogames_chess.nnue.network import OUTPUT_SCALE


@dataclass(frozen=True)
class WinModel:
    """A map from scores of network and labels to expected results, and the loss's exponent."""

    net_scale: float
    label_scale: float
    offset: float = 0.0
    """The score at which half of a side's games are won; 0 is the plain sigmoid."""
    exponent: float = 2.6

    def of_net(self, y: Tensor) -> Tensor:
        """Expected result of the network's output."""
        return self._expected(OUTPUT_SCALE * y, self.net_scale)

    def of_label(self, score: Tensor) -> Tensor:
        """Expected result of a label."""
        return self._expected(score, self.label_scale)

    def _expected(self, score: Tensor, scale: float) -> Tensor:
        win = torch.sigmoid((score - self.offset) / scale)
        loss = torch.sigmoid((-score - self.offset) / scale)
        return (1 + win - loss) / 2


PRESETS: Mapping[str, WinModel] = {
    "thesis": WinModel(net_scale=361, label_scale=410, exponent=2.6),
    "squares": WinModel(net_scale=361, label_scale=410, exponent=2.0),
    "official": WinModel(net_scale=340, label_scale=380, offset=270, exponent=2.5),
}
"""The win models by name; `fit` takes both scales from the data."""


def fit_win_model(scores: NDArray[np.int16], results: NDArray[np.int8]) -> WinModel:
    """Fit offset and scale to labels and results by least squares over buckets of 16 units."""
    bucket = np.floor_divide(scores.astype(np.int64), 16)
    numbers, inverse, counts = np.unique(bucket, return_inverse=True, return_counts=True)
    mean = np.bincount(inverse, (results + 1) / 2) / counts
    centre = numbers * 16.0 + 8.0
    best, found = np.inf, (0.0, 361.0)
    offsets, scales = np.linspace(0, 600, 13), np.geomspace(50, 1500, 15)
    for _ in range(6):  # Each round looks closer round the best of the last.
        for offset in offsets:
            for scale in scales:
                win = 1 / (1 + np.exp(-(centre - offset) / scale))
                loss = 1 / (1 + np.exp((centre + offset) / scale))
                error = float((counts * ((1 + win - loss) / 2 - mean) ** 2).sum())
                if error < best:
                    best, found = error, (float(offset), float(scale))
        width = (offsets[1] - offsets[0]) if len(offsets) > 1 else 1.0
        ratio = (scales[1] / scales[0]) ** 0.5
        offsets = np.unique(np.clip(np.linspace(found[0] - width, found[0] + width, 9), 0, None))
        scales = np.geomspace(found[1] / ratio, found[1] * ratio, 9)
    return WinModel(net_scale=found[1], label_scale=found[1], offset=found[0])


def eval_loss(
    model: WinModel, y: Tensor, score: Tensor, result: Tensor, *, label_weight: float = 1.0
) -> Tensor:
    """Mean |t - q|^exponent; `result` is 0, 0.5 or 1 in the side to move's view."""
    target = label_weight * model.of_label(score) + (1 - label_weight) * result
    return torch.as_tensor(((target - model.of_net(y)).abs() ** model.exponent).mean())


def pqr_loss(p: Tensor, q: Tensor, r: Tensor, *, equality: float = 1.0) -> Tensor:
    """A position, the one after its best move, and the one after another move.

    f(p) = -f(q) because the sides change, and f(r) > f(q): the other move leaves the opponent
    better off. The least value is 2 ln 2 for the equality and above 0 for the order.
    """

    def squash(y: Tensor) -> Tensor:
        return 2 * torch.sigmoid(OUTPUT_SCALE * y / 361) - 1

    p, q, r = squash(p), squash(q), squash(r)
    balance = equality * (p + q)
    return torch.as_tensor((softplus(q - r) + softplus(-balance) + softplus(balance)).mean())
