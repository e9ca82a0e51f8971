"""Residual blocks."""

from collections.abc import Sequence

from torch import Tensor, nn

from zerogames.nets.block_kinds import StageSite
from zerogames.nets.blocks.parts import (
    Patterns,
    make_convolution,
    make_excitation,
    make_kernel_stage,
    make_norm,
)
from zerogames.nets.layers import ACTIVATIONS
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import KernelStage, NetSpec


class ResidualBlock(nn.Module):
    """Two convolutions, squeeze-and-excitation, the skip and the activation."""

    def __init__(self, spec: NetSpec, stage: KernelStage, patterns: Sequence[Patterns]) -> None:
        super().__init__()
        self.function = spec.activation
        self.activate = ACTIVATIONS[spec.activation]
        self.conv1 = make_convolution(spec, stage, patterns[0])
        self.norm1 = make_norm(spec, stage.channels)
        self.conv2 = make_convolution(spec, stage, patterns[1])
        self.norm2 = make_norm(spec, stage.channels, last=True)
        self.excitation = make_excitation(spec, stage)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        inner = self.activate(self.norm1(self.conv1(x)))
        return self.activate(x + self.excitation(self.norm2(self.conv2(inner))))

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.activate(net.conv(x, self.conv1, self.norm1), self.function)
        inner = net.excite(net.conv(inner, self.conv2, self.norm2), self.excitation)
        return net.activate(net.add(x, inner), self.function)


def make_stage(site: StageSite) -> tuple[nn.Module | None, Sequence[nn.Module]]:
    """The modules of a stage."""
    return make_kernel_stage(site, ResidualBlock)
