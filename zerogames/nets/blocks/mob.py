"""MobileNet blocks."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn
from zerogames_kernels.modules import BoardDepthwise, norm_depthwise_norm

from zerogames.nets.block_kinds import StageSite
from zerogames.nets.blocks.parts import Patterns, make_excitation, make_kernel_stage, make_norm
from zerogames.nets.layers import ACTIVATIONS, pointwise
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import KernelStage, NetSpec


class MobileBlock(nn.Module):
    """Inverted bottleneck: expand, depthwise, project, squeeze-and-excitation, the skip.

    Lc0's family ends in a ReLU; the Go papers' trunk stays linear.
    """

    def __init__(self, spec: NetSpec, stage: KernelStage, patterns: Sequence[Patterns]) -> None:
        super().__init__()
        channels, expanded = stage.channels, stage.expanded
        self.expand = pointwise(channels, expanded)
        self.norm1 = make_norm(spec, expanded)
        self.depthwise = BoardDepthwise(expanded, patterns[0], form=stage.form)
        self.norm2 = make_norm(spec, expanded)
        self.project = pointwise(expanded, channels)
        self.norm3 = make_norm(spec, channels, last=True)
        self.excitation = make_excitation(spec, stage)
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


def make_stage(site: StageSite) -> tuple[nn.Module | None, Sequence[nn.Module]]:
    """The modules of a stage."""
    return make_kernel_stage(site, MobileBlock)
