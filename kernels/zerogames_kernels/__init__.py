"""Board-shaped kernels: tap patterns and the depthwise operator in every form.

Importing this package does not import torch; `zerogames_kernels.depthwise` and
`zerogames_kernels.modules` do.
"""

from zerogames_kernels.groups import group_offsets, group_sizes
from zerogames_kernels.pattern import Pattern, random_pattern, square_pattern

__all__ = ["Pattern", "group_offsets", "group_sizes", "random_pattern", "square_pattern"]
