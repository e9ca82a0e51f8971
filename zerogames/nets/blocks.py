"""The blocks trunks are made of; all keep `[B, C, H, W]`.

A block's `layers` writes what its `forward` computes as a program, see
`zerogames.nets.program_writer`.
"""

from collections.abc import Sequence
from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn
from zerogames_kernels import Pattern
from zerogames_kernels.modules import BoardDepthwise, norm_depthwise_norm

from zerogames.nets.layers import (
    ACTIVATIONS,
    BatchNorm,
    MaskedConv2d,
    SqueezeExcitation,
    pointwise,
    spatial,
)
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import NORM_EPSILON, NetSpec

Patterns = Sequence[Pattern]


def make_norm(spec: NetSpec, channels: int, *, last: bool = False) -> BatchNorm:
    """A batch norm; before a ReLU and a convolution Lc0 leaves the scale to the convolution."""
    keras = spec.convention == "keras"
    return BatchNorm(channels, scale=last or keras, eps=NORM_EPSILON[spec.convention])


def make_excitation(spec: NetSpec) -> nn.Module:
    """Squeeze-and-excitation, if the net has it."""
    if spec.se_ratio == 0:
        return nn.Identity()
    return SqueezeExcitation(spec.channels, spec.se_ratio, spec.activation)


def make_convolution(spec: NetSpec, patterns: Patterns) -> nn.Module:
    """A full convolution from channels to channels with the net's kernel."""
    if spec.kernel in ("3x3", "5x5"):
        bias = spec.convention == "keras"
        return spatial(spec.channels, spec.channels, int(spec.kernel[0]), bias=bias)
    return MaskedConv2d(spec.channels, spec.channels, patterns)


class Stem(nn.Sequential):
    """The first layer: from input planes to the trunk's channels."""

    def __init__(self, spec: NetSpec, planes: int) -> None:
        channels = spec.channels
        if spec.convention == "keras":
            norm = make_norm(spec, channels, last=True)
            super().__init__(pointwise(planes, channels, bias=True), norm, nn.ReLU())
            self.function = "relu"
        elif spec.block == "res":
            # The papers give nets with masked kernels a full 5x5 here.
            size = 3 if spec.kernel == "3x3" else 5
            norm = make_norm(spec, channels, last=True)
            last = nn.Mish() if spec.activation == "mish" else nn.ReLU()
            super().__init__(spatial(planes, channels, size), norm, last)
            self.function = spec.activation
        else:
            super().__init__(pointwise(planes, channels))
            self.function = "none"

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        return net.activate(net.conv(x, *list(self)[:2]), self.function)


class ResidualBlock(nn.Module):
    """Two convolutions, squeeze-and-excitation, the skip and the activation."""

    def __init__(self, spec: NetSpec, first: Patterns, second: Patterns) -> None:
        super().__init__()
        self.function = spec.activation
        self.activate = ACTIVATIONS[spec.activation]
        self.conv1 = make_convolution(spec, first)
        self.norm1 = make_norm(spec, spec.channels)
        self.conv2 = make_convolution(spec, second)
        self.norm2 = make_norm(spec, spec.channels, last=True)
        self.excitation = make_excitation(spec)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        inner = self.activate(self.norm1(self.conv1(x)))
        return self.activate(x + self.excitation(self.norm2(self.conv2(inner))))

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.activate(net.conv(x, self.conv1, self.norm1), self.function)
        inner = net.excite(net.conv(inner, self.conv2, self.norm2), self.excitation)
        return net.activate(net.add(x, inner), self.function)


class GoloisBlock(nn.Module):
    """Two convolutions, the skip, a ReLU, and only then the block's one batch norm."""

    def __init__(self, spec: NetSpec, first: Patterns, second: Patterns) -> None:
        super().__init__()
        self.conv1 = make_convolution(spec, first)
        self.conv2 = make_convolution(spec, second)
        self.norm = make_norm(spec, spec.channels, last=True)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        inner: Tensor = self.conv2(F.relu(self.conv1(x)))
        normed: Tensor = self.norm(F.relu(x + inner))
        return normed

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.conv(net.activate(net.conv(x, self.conv1), "relu"), self.conv2)
        return net.norm(net.activate(net.add(x, inner), "relu"), self.norm)


class MobileBlock(nn.Module):
    """Inverted bottleneck: expand, depthwise, project, squeeze-and-excitation, the skip.

    Lc0's family ends in a ReLU; the Go papers' trunk stays linear.
    """

    def __init__(self, spec: NetSpec, patterns: Patterns) -> None:
        super().__init__()
        channels, expanded = spec.channels, spec.expanded
        self.expand = pointwise(channels, expanded)
        self.norm1 = make_norm(spec, expanded)
        self.depthwise = BoardDepthwise(expanded, patterns, form=spec.form)
        self.norm2 = make_norm(spec, expanded)
        self.project = pointwise(expanded, channels)
        self.norm3 = make_norm(spec, channels, last=True)
        self.excitation = make_excitation(spec)
        self.function = "none" if spec.convention == "keras" else "relu"

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        inner = self.expand(x)  # [B, E, H, W]
        if self.training:
            # One operator on a CPU: the expanded channels are where the memory traffic is.
            inner = norm_depthwise_norm(inner, self.norm1, self.depthwise, self.norm2)
        else:
            inner = F.relu(self.norm2(self.depthwise(F.relu(self.norm1(inner)))))
        inner = self.excitation(self.norm3(self.project(inner)))  # [B, C, H, W]
        return ACTIVATIONS[self.function](x + inner)

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.activate(net.conv(x, self.expand, self.norm1), "relu")
        inner = net.activate(net.conv(inner, self.depthwise, self.norm2), "relu")
        inner = net.excite(net.conv(inner, self.project, self.norm3), self.excitation)
        return net.activate(net.add(x, inner), self.function)


class ConvNextBlock(nn.Module):
    """Depthwise, batch norm, a pointwise MLP with GELU, the skip."""

    def __init__(self, spec: NetSpec, patterns: Patterns) -> None:
        super().__init__()
        self.depthwise = BoardDepthwise(spec.channels, patterns, form=spec.form)
        self.norm = make_norm(spec, spec.channels, last=True)
        self.expand = pointwise(spec.channels, spec.expanded, bias=True)
        self.project = pointwise(spec.expanded, spec.channels, bias=True)
        self.excitation = make_excitation(spec)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        inner = F.gelu(self.expand(self.norm(self.depthwise(x))))  # [B, E, H, W]
        inner = self.project(inner)  # [B, C, H, W]
        return x + cast(Tensor, self.excitation(inner))

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.conv(net.conv(x, self.depthwise, self.norm), self.expand)
        inner = net.conv(net.activate(inner, "gelu"), self.project)
        return net.add(x, net.excite(inner, self.excitation))


def make_block(spec: NetSpec, layers: Sequence[Patterns]) -> nn.Module:
    """A block from the patterns of its one or two spatial layers."""
    if spec.block == "res":
        return ResidualBlock(spec, layers[0], layers[1])
    if spec.block == "golois":
        return GoloisBlock(spec, layers[0], layers[1])
    if spec.block == "mob":
        return MobileBlock(spec, layers[0])
    return ConvNextBlock(spec, layers[0])


def layers_per_block(spec: NetSpec) -> int:
    """Spatial layers in one block."""
    return 2 if spec.block in ("res", "golois") else 1
