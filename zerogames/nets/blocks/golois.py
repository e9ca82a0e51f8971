"""Residual blocks with one batch norm, after the addition."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from zerogames.nets.block_kinds import StageSite
from zerogames.nets.blocks.parts import Patterns, make_convolution, make_kernel_stage, make_norm
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import KernelStage, NetSpec


class GoloisBlock(nn.Module):
    """Two convolutions, the skip, a ReLU, and only then the block's one batch norm."""

    def __init__(self, spec: NetSpec, stage: KernelStage, patterns: Sequence[Patterns]) -> None:
        super().__init__()
        self.conv1 = make_convolution(spec, stage, patterns[0])
        self.conv2 = make_convolution(spec, stage, patterns[1])
        self.norm = make_norm(spec, stage.channels, last=True)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        inner: Tensor = self.conv2(F.relu(self.conv1(x)))
        normed: Tensor = self.norm(F.relu(x + inner))
        return normed

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.conv(net.activate(net.conv(x, self.conv1), "relu"), self.conv2)
        return net.norm(net.activate(net.add(x, inner), "relu"), self.norm)


def make_stage(site: StageSite) -> tuple[nn.Module | None, Sequence[nn.Module]]:
    """The modules of a stage."""
    return make_kernel_stage(site, GoloisBlock)
