"""Layers the blocks and heads are made of."""

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from zerogames_kernels import Pattern, group_offsets
from zerogames_kernels.pattern import RADIUS
from zerogames_kernels.reference import dense_index

WINDOW = 2 * RADIUS + 1
NORM_MOMENTUM = 0.01
"""Share by which a batch moves the running statistics, as in Lc0 and Keras."""
ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "mish": F.mish,
    "gelu": F.gelu,
    "swish": F.silu,
    "selu": F.selu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}
"""The functions of each number that layers may have, by name; programs have the same."""


class BatchNorm(nn.BatchNorm2d):
    """Batch norm that always shifts and, unless `scale` is false, scales.

    Keeps no count of batches: with a fixed momentum nothing reads it.
    """

    def __init__(self, channels: int, *, scale: bool = True, eps: float = 1e-5) -> None:
        super().__init__(channels, eps=eps, momentum=NORM_MOMENTUM)
        self.register_buffer("num_batches_tracked", None)
        if not scale:
            self.register_parameter("weight", None)

    def _load_from_state_dict(self, *args: object) -> None:
        # The parent would invent the count of batches that old files lack.
        nn.Module._load_from_state_dict(self, *args)


class MaskedConv2d(nn.Module):
    """A convolution in a 5x5 window that keeps only the taps of its patterns.

    The output channels are split in groups, one for each pattern; weights are `[out, in, K]`.
    """

    index: Tensor

    def __init__(self, in_channels: int, out_channels: int, patterns: Sequence[Pattern]) -> None:
        super().__init__()
        self.patterns = tuple(patterns)
        offsets = group_offsets(self.patterns)
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels, len(offsets[0])))
        index = dense_index(out_channels, offsets)[:, None]
        self.register_buffer("index", index, persistent=False)  # [out, 1, K]

    def dense_weight(self) -> Tensor:
        """The weights as `[out, in, 5, 5]` with zeros between the taps."""
        out_channels, in_channels, _ = self.weight.shape
        dense = self.weight.new_zeros(out_channels, in_channels, WINDOW * WINDOW)
        dense = dense.scatter(2, self.index.expand_as(self.weight), self.weight)
        return dense.view(out_channels, in_channels, WINDOW, WINDOW)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve `[B, in, H, W]` to `[B, out, H, W]`."""
        return F.conv2d(x, self.dense_weight(), padding=RADIUS)

    def extra_repr(self) -> str:
        """Sizes and patterns."""
        names = ", ".join(pattern.name for pattern in self.patterns)
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}, patterns=({names})"


class SqueezeExcitation(nn.Module):
    """Scale and shift every channel by what the whole board says."""

    def __init__(self, channels: int, ratio: int, activation: str = "relu") -> None:
        super().__init__()
        self.function = activation
        self.activate = ACTIVATIONS[activation]
        hidden = channels // ratio
        self.squeeze = nn.Linear(channels, hidden)
        self.excite = nn.Linear(hidden, 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """`sigmoid(scale) * x + shift`, x `[B, C, H, W]`."""
        pooled = x.mean((2, 3))  # [B, C]
        scale, shift = self.excite(self.activate(self.squeeze(pooled))).chunk(2, dim=1)
        excited: Tensor = torch.sigmoid(scale)[:, :, None, None] * x + shift[:, :, None, None]
        return excited


def pointwise(in_channels: int, out_channels: int, *, bias: bool = False) -> nn.Conv2d:
    """A 1x1 convolution."""
    return nn.Conv2d(in_channels, out_channels, 1, bias=bias)


def spatial(in_channels: int, out_channels: int, size: int, *, bias: bool = False) -> nn.Conv2d:
    """A `size` x `size` convolution that keeps the board's size."""
    return nn.Conv2d(in_channels, out_channels, size, padding=size // 2, bias=bias)


def initialize(module: nn.Module) -> None:
    """Draw a new module's weights: Glorot-normal, zero biases; batch norms are made neutral.

    A compact kernel counts its live taps only. A module with a method `draw` then has its say.
    """
    for part in module.modules():
        weight, bias = getattr(part, "weight", None), getattr(part, "bias", None)
        if isinstance(part, BatchNorm | nn.LayerNorm):
            continue
        if isinstance(weight, nn.Parameter):
            if weight.ndim == 2 and not isinstance(part, nn.Linear):  # compact depthwise [C, K]
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
            else:
                nn.init.xavier_normal_(weight)
        if isinstance(bias, nn.Parameter):
            nn.init.zeros_(bias)
    for part in module.modules():
        draw = getattr(part, "draw", None)
        if draw is not None:
            draw()
