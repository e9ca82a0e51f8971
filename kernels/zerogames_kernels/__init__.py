"""Board-shaped kernels: tap patterns and the depthwise operator in every form."""

from zerogames_kernels.pattern import Pattern, random_pattern, square_pattern

__all__ = ["Pattern", "random_pattern", "square_pattern"]
