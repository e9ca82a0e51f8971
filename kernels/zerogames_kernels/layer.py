"""The parameters of a depthwise layer, in the order of the operator's schema."""

from typing import NamedTuple

import torch


class DepthwiseLayer(NamedTuple):
    """The arguments of `zerogames::board_depthwise` after its input."""

    weight: torch.Tensor
    """One row of taps per channel, `[C, K]`."""
    bias: torch.Tensor | None
    """One number per channel, `[C]`."""
    offsets: list[int]
    """The taps of all groups, as `flatten_offsets` writes them."""
    groups: int
    """The number of groups of channels."""
    relu: bool = False
    """Whether negative sums become zero."""
    form: str = "native"
    """The kernel that runs on a GPU, see `depthwise.FORMS`."""
