"""ConvNeXt blocks."""

from collections.abc import Sequence
from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn
from zerogames_kernels.modules import BoardDepthwise

from zerogames.nets.block_kinds import StageSite
from zerogames.nets.blocks.parts import Patterns, make_excitation, make_kernel_stage, make_norm
from zerogames.nets.layers import pointwise
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import KernelStage, NetSpec


class ConvNextBlock(nn.Module):
    """Depthwise, batch norm, a pointwise MLP with GELU, the skip."""

    def __init__(self, spec: NetSpec, stage: KernelStage, patterns: Sequence[Patterns]) -> None:
        super().__init__()
        self.depthwise = BoardDepthwise(stage.channels, patterns[0], form=stage.form)
        self.norm = make_norm(spec, stage.channels, last=True)
        self.expand = pointwise(stage.channels, stage.expanded, bias=True)
        self.project = pointwise(stage.expanded, stage.channels, bias=True)
        self.excitation = make_excitation(spec, stage)

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


def make_stage(site: StageSite) -> tuple[nn.Module | None, Sequence[nn.Module]]:
    """The modules of a stage."""
    return make_kernel_stage(site, ConvNextBlock)
