"""The depthwise layer of the blocks: compact weights `[C, K]`, one pattern for each group."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from zerogames_kernels import Pattern
from zerogames_kernels.pattern import RADIUS

from zerogames.nets.layers import WINDOW, tap_index
from zerogames.nets.spec import Form


class DenseDepthwise(nn.Module):
    """Plain torch: the compact weights spread in a 5x5 window."""

    index: Tensor

    def __init__(self, channels: int, patterns: Sequence[Pattern]) -> None:
        super().__init__()
        self.patterns = tuple(patterns)
        self.weight = nn.Parameter(torch.empty(channels, len(self.patterns[0].offsets)))
        self.register_buffer("index", tap_index(channels, self.patterns), persistent=False)

    def dense_weight(self) -> Tensor:
        """The weights as `[C, 1, 5, 5]` with zeros between the taps."""
        channels = self.weight.shape[0]
        dense = self.weight.new_zeros(channels, WINDOW * WINDOW)
        return dense.scatter(1, self.index, self.weight).view(channels, 1, WINDOW, WINDOW)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve every channel of `[B, C, H, W]` with its own taps."""
        return F.conv2d(x, self.dense_weight(), padding=RADIUS, groups=x.shape[1])


def make_depthwise(channels: int, patterns: Sequence[Pattern], *, form: Form) -> nn.Module:
    """A depthwise layer with `weight [C, K]`."""
    return DenseDepthwise(channels, patterns)
