"""What blocks around convolutions share: norms, kernels, what leads into a stage."""

from collections.abc import Callable, Sequence

from torch import nn
from zerogames_kernels import Pattern

from zerogames.nets.block_kinds import StageSite
from zerogames.nets.layers import BatchNorm, MaskedConv2d, SqueezeExcitation, pointwise, spatial
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import NORM_EPSILON, KernelStage, NetSpec

Patterns = Sequence[Pattern]


def make_norm(spec: NetSpec, channels: int, *, last: bool = False) -> BatchNorm:
    """A batch norm; before a ReLU and a convolution Lc0 leaves the scale to the convolution."""
    keras = spec.convention == "keras"
    return BatchNorm(channels, scale=last or keras, eps=NORM_EPSILON[spec.convention])


def make_excitation(spec: NetSpec, stage: KernelStage) -> nn.Module:
    """Squeeze-and-excitation, if the stage has it."""
    if stage.se_ratio == 0:
        return nn.Identity()
    return SqueezeExcitation(stage.channels, stage.se_ratio, spec.activation)


def make_convolution(spec: NetSpec, stage: KernelStage, patterns: Patterns) -> nn.Module:
    """A full convolution from channels to channels with the stage's kernel."""
    if stage.kernel in ("3x3", "5x5"):
        bias = spec.convention == "keras"
        return spatial(stage.channels, stage.channels, int(stage.kernel[0]), bias=bias)
    return MaskedConv2d(stage.channels, stage.channels, patterns)


class Stem(nn.Sequential):
    """The first layer: from input planes to the trunk's channels."""

    def __init__(self, spec: NetSpec, stage: KernelStage, planes: int) -> None:
        channels = stage.channels
        if spec.convention == "keras":
            norm = make_norm(spec, channels, last=True)
            super().__init__(pointwise(planes, channels, bias=True), norm, nn.ReLU())
            self.function = "relu"
        elif stage.block == "res":
            # The papers give nets with masked kernels a full 5x5 here.
            size = 3 if stage.kernel == "3x3" else 5
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


class Widen(nn.Sequential):
    """From the channels of a stage to those of the next."""

    def __init__(self, spec: NetSpec, inputs: int, channels: int) -> None:
        super().__init__(pointwise(inputs, channels), make_norm(spec, channels, last=True))

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        return net.conv(x, *self)


def make_kernel_stage(
    site: StageSite, block: Callable[[NetSpec, KernelStage, Sequence[Patterns]], nn.Module]
) -> tuple[nn.Module | None, Sequence[nn.Module]]:
    """What leads into a stage, and its blocks; `block` takes the patterns of its layers."""
    spec, stage = site.spec, site.stage
    assert isinstance(stage, KernelStage)
    entry: nn.Module | None = None
    if site.is_first:
        entry = Stem(spec, stage, site.inputs)
    elif site.inputs != stage.channels:
        entry = Widen(spec, site.inputs, stage.channels)
    step = stage.pattern_layers
    return entry, [
        block(spec, stage, site.patterns[first : first + step])
        for first in range(0, step * stage.blocks, step)
    ]
