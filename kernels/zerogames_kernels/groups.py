"""Sharing the channels of a layer among patterns."""

from collections.abc import Sequence

from zerogames_kernels.pattern import RADIUS, Pattern

Offsets = Sequence[Sequence[tuple[int, int]]]
"""Taps `(d_row, d_column)` of every group of channels."""


def group_sizes(channels: int, groups: int) -> list[int]:
    """Split `channels` into adjacent groups, as even as possible; the first get the extra."""
    if groups < 1 or channels < groups:
        raise ValueError(f"{channels} channels cannot be split into {groups} groups of at least 1")
    size, extra = divmod(channels, groups)
    return [size + (group < extra) for group in range(groups)]


def group_offsets(patterns: Sequence[Pattern]) -> list[list[tuple[int, int]]]:
    """Return the taps of every group; patterns of one layer need the same number of taps."""
    if not patterns:
        raise ValueError("a depthwise layer needs at least one pattern")
    if len({len(pattern.offsets) for pattern in patterns}) > 1:
        counts = ", ".join(f"{pattern.name} {len(pattern.offsets)}" for pattern in patterns)
        raise ValueError(f"the patterns of one layer need the same number of taps, got {counts}")
    return [list(pattern.offsets) for pattern in patterns]


def flatten_offsets(offsets: Offsets) -> list[int]:
    """Check the taps and write them as one list of integers, as the operators take them."""
    if not offsets or not offsets[0]:
        raise ValueError("a depthwise layer needs at least one group with at least one tap")
    if len({len(taps) for taps in offsets}) > 1:
        counts = ", ".join(str(len(taps)) for taps in offsets)
        raise ValueError(f"all groups need the same number of taps, got {counts}")
    for taps in offsets:
        if len(set(taps)) != len(taps):
            raise ValueError(f"a group repeats a tap: {list(taps)}")
        if any(max(abs(row), abs(column)) > RADIUS for row, column in taps):
            raise ValueError(f"a tap lies outside the 5x5 window: {list(taps)}")
    return [part for taps in offsets for tap in taps for part in tap]
