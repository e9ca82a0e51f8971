"""The float network for training, with a sparse first layer in native code."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zerogames.errors import UserError
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.feature_set import FeatureSet, top_pairs
from zerogames_chess.nnue.network import MAX_ACCUMULATOR, MAX_HIDDEN
from zerogames_chess.nnue.quantize import HIDDEN_LIMIT, OUTPUT_LIMIT

EXPECTED_ACTIVE = 20.0
"""Typical number of active features of one block, for the scale of the first weights."""
START_SHARE = 0.05
"""The share of the weights that would fill the range of the accumulator."""


class FeatureBatch(NamedTuple):
    """Active features of many positions, for the side to move and for the other.

    Lists stand one after the other; that of sample i is [offsets[i], offsets[i + 1]).
    """

    own: NDArray[np.int32]
    own_offsets: NDArray[np.int64]
    other: NDArray[np.int32]
    other_offsets: NDArray[np.int64]

    @property
    def num_samples(self) -> int:
        """The number of positions."""
        return len(self.own_offsets) - 1


class _SparseLayer(torch.autograd.Function):
    """[B, 2M]: both perspectives' sums of rows, clipped to [0, 1]."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, batch: FeatureBatch) -> Tensor:
        out = torch.empty(batch.num_samples, 2 * weight.shape[1])
        _native.sparse_forward(
            weight.detach().numpy(),
            bias.detach().numpy(),
            batch,
            out.numpy(),
            torch.get_num_threads(),
        )
        ctx.save_for_backward(out)
        ctx.batch, ctx.shape = batch, weight.shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (out,) = ctx.saved_tensors
        batch: FeatureBatch = ctx.batch
        weight_gradient, bias_gradient = torch.zeros(ctx.shape), torch.zeros(ctx.shape[1])
        _native.sparse_backward(
            out.numpy(),
            gradients[0].contiguous().numpy(),
            batch,
            weight_gradient.numpy(),
            bias_gradient.numpy(),
            torch.get_num_threads(),
        )
        return weight_gradient, bias_gradient, None


class NnueModel(nn.Module):
    """Features -> M (both perspectives) -> O -> P -> 1; without P if it is 0."""

    def __init__(self, features: str, m: int, o: int, p: int) -> None:
        super().__init__()
        if not (1 <= m <= MAX_ACCUMULATOR and 1 <= o <= MAX_HIDDEN and 0 <= p <= MAX_HIDDEN):
            raise UserError(
                f"sizes {m}-{o}-{p}: must be from 1-1-0 to "
                f"{MAX_ACCUMULATOR}-{MAX_HIDDEN}-{MAX_HIDDEN}"
            )
        self.features = FeatureSet(features)
        self.sizes = (m, o, p)
        self._native_features = _native.FeatureSet(features, top_pairs())
        self.w1 = nn.Parameter(torch.empty(self.features.size, m))
        self.b1 = nn.Parameter(torch.full((m,), 0.5))
        self.second = nn.Linear(2 * m, o)
        self.third = nn.Linear(o, p) if p else None
        self.last = nn.Linear(p or o, 1)
        self.reset()

    def reset(self) -> None:
        """Start weights: half-open clipped units in every layer, dead features zero.

        Features start with weights near zero. Rare features keep their first weights, and large
        random ones would outweigh what training adds: with 120,000 positions they raised the loss
        by half.
        """
        limit = START_SHARE * (EXPECTED_ACTIVE * len(self.features.blocks)) ** -0.5
        with torch.no_grad():
            self.w1.uniform_(-limit, limit)
            self.w1[sorted(self.features.dead)] = 0.0
            self.second.bias.fill_(0.5)
            if self.third is not None:
                self.third.bias.fill_(0.5)
            self.last.bias.zero_()

    def batch(self, records: NDArray[np.uint8]) -> FeatureBatch:
        """Find the features of records `[B, 40]`."""
        threads = torch.get_num_threads()
        return FeatureBatch(*_native.feature_lists(self._native_features, records, threads))

    def forward(self, batch: FeatureBatch) -> Tensor:
        """Scores [B] in units of 600, the side to move's view."""
        x: Tensor = _SparseLayer.apply(self.w1, self.b1, batch)  # type: ignore[no-untyped-call]
        x = self.second(x).clamp(0.0, 1.0)
        if self.third is not None:
            x = self.third(x).clamp(0.0, 1.0)
        return torch.as_tensor(self.last(x)).squeeze(1)

    @torch.no_grad()
    def clip_weights(self) -> None:
        """Keep the weights where they fit the integer types; call after every step."""
        self.second.weight.clamp_(-HIDDEN_LIMIT, HIDDEN_LIMIT)
        if self.third is not None:
            self.third.weight.clamp_(-HIDDEN_LIMIT, HIDDEN_LIMIT)
        self.last.weight.clamp_(-OUTPUT_LIMIT, OUTPUT_LIMIT)

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """The arrays that `quantize` takes."""
        _, o, _ = self.sizes
        third = self.third
        arrays = {
            "w1": self.w1,
            "b1": self.b1,
            "w2": self.second.weight,
            "b2": self.second.bias,
            "w3": third.weight if third is not None else torch.empty(0, o),
            "b3": third.bias if third is not None else torch.empty(0),
            "w4": self.last.weight[0],
            "b4": self.last.bias,
        }
        return {name: value.detach().numpy().copy() for name, value in arrays.items()}
