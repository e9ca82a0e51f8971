"""Layers for networks: the board-shaped depthwise convolution as a `torch.nn.Module`."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from zerogames_kernels import reference
from zerogames_kernels.depthwise import FORMS, MAX_BOARD, board_depthwise
from zerogames_kernels.groups import group_offsets, group_sizes
from zerogames_kernels.pattern import Pattern


def runs_native(x: torch.Tensor) -> bool:
    """Whether the CPU kernels take `x`: float32 boards up to 25x25, outside an ONNX export."""
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and x.dim() == 4
        and max(x.shape[2:]) <= MAX_BOARD
        and not torch.onnx.is_in_onnx_export()
    )


class BoardDepthwise(nn.Module):
    """A depthwise convolution whose taps are the patterns, one per group of channels.

    Its parameters are `weight [C, K]`, only the live taps, top to bottom, then left to right, and
    with `bias=True` also `bias [C]`. The channels are split among the patterns in their order.
    Input and output are `[B, C, H, W]`.
    """

    def __init__(
        self,
        channels: int,
        patterns: Sequence[Pattern],
        *,
        bias: bool = False,
        relu: bool = False,
        form: str = "native",
    ) -> None:
        """Make the layer.

        Args:
            channels: number of channels C, at least one per pattern.
            patterns: one per group of channels, all with the same number of taps K.
            bias: whether a bias per channel is added.
            relu: whether a ReLU follows.
            form: `native`, `dense` (a grouped 5x5 convolution, the same weights), `opti1` or
                `opti2` (CUDA kernels; on the CPU they run as native). It may be changed later.
        """
        super().__init__()
        if form not in FORMS:
            raise ValueError(
                f"unknown form '{form}' of a depthwise layer; known: {', '.join(FORMS)}"
            )
        self.channels = channels
        self.patterns = tuple(patterns)
        self.offsets = group_offsets(patterns)
        self.group_sizes = group_sizes(channels, len(patterns))
        self.relu = relu
        self.form = form
        self.weight = nn.Parameter(torch.empty(channels, len(self.offsets[0])))
        self.bias = nn.Parameter(torch.empty(channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights as `nn.Conv2d` does, with the live taps as the fan-in."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Convolve `x [B, C, H, W]`."""
        if self.form == "dense" or not runs_native(x):
            return reference.dense(x, self.weight, self.offsets, self.bias, relu=self.relu)
        return board_depthwise(
            x, self.weight, self.offsets, self.bias, relu=self.relu, form=self.form
        )

    def dense_weight(self) -> torch.Tensor:
        """Return the weights of the equal grouped 5x5 convolution, `[C, 1, 5, 5]`."""
        index = reference.dense_index(self.channels, self.offsets, self.weight.device)
        return reference.dense_weight(self.weight, index)

    def extra_repr(self) -> str:
        """Describe the layer in `print(model)`."""
        names = ", ".join(pattern.name for pattern in self.patterns)
        return f"{self.channels}, [{names}], relu={self.relu}, form={self.form!r}"
