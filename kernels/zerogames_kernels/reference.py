"""Plain torch forms of the board-shaped depthwise convolution.

`slices` is the definition every other form is compared with; `dense` is what a framework without
the operator runs: the taps scattered into a 5x5 kernel and a grouped convolution.
"""

import torch
from torch.nn import functional

from zerogames_kernels.groups import Offsets, group_sizes
from zerogames_kernels.pattern import RADIUS


def slices(
    x: torch.Tensor,
    weight: torch.Tensor,
    offsets: Offsets,
    bias: torch.Tensor | None = None,
    *,
    relu: bool = False,
) -> torch.Tensor:
    """Add up shifted slices of the zero-padded `x [B, C, H, W]`, one per tap; `weight [C, K]`."""
    channels, height, width = x.shape[1:]
    padded = functional.pad(x, (RADIUS,) * 4)
    outputs = []
    begin = 0
    for size, taps in zip(group_sizes(channels, len(offsets)), offsets, strict=True):
        group = slice(begin, begin + size)
        begin += size
        total = torch.zeros_like(x[:, group])
        for tap, (row, column) in enumerate(taps):
            rows = slice(RADIUS + row, RADIUS + row + height)
            columns = slice(RADIUS + column, RADIUS + column + width)
            total = total + padded[:, group, rows, columns] * weight[group, tap, None, None]
        outputs.append(total)
    y = torch.cat(outputs, dim=1)
    if bias is not None:
        y = y + bias[:, None, None]
    return y.relu() if relu else y


def dense_index(
    channels: int, offsets: Offsets, device: torch.device | None = None
) -> torch.Tensor:
    """Return `[C, K]`: where each tap of each channel lies in a flattened 5x5 kernel."""
    size = 2 * RADIUS + 1
    rows = torch.tensor(
        [[(row + RADIUS) * size + column + RADIUS for row, column in taps] for taps in offsets],
        device=device,
    )
    sizes = torch.tensor(group_sizes(channels, len(offsets)), device=device)
    return rows.repeat_interleave(sizes, dim=0, output_size=channels)


def dense_weight(weight: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Scatter `weight [C, K]` into `[C, 1, 5, 5]`; `index` is that of `dense_index`."""
    size = 2 * RADIUS + 1
    full = weight.new_zeros(weight.shape[0], size * size).scatter(1, index, weight)
    return full.view(-1, 1, size, size)


def dense(
    x: torch.Tensor,
    weight: torch.Tensor,
    offsets: Offsets,
    bias: torch.Tensor | None = None,
    *,
    relu: bool = False,
) -> torch.Tensor:
    """Run a grouped 5x5 convolution with the taps of `weight [C, K]` scattered into it."""
    channels = x.shape[1]
    full = dense_weight(weight, dense_index(channels, offsets, weight.device)).to(x.dtype)
    bias = None if bias is None else bias.to(x.dtype)
    y = functional.conv2d(x, full, bias, padding=RADIUS, groups=channels)
    return y.relu() if relu else y
