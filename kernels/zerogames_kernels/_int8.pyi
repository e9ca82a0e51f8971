import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Steps = NDArray[np.int8]

def has_vnni() -> bool:
    """Whether this CPU multiplies int8 fast, and this variant knows how."""

class Trunk:
    """Stem and blocks of a net in int8.

    Layers are tuples of weight, scale `[out]` and bias `[out]`: sums become `sum * scale + bias`.
    """

    def __init__(self, height: int, width: int, weight: Floats, bias: Floats, relu: bool) -> None:
        """Begin with the stem, float32 weights `[C, P, n, n]`."""

    @property
    def channels(self) -> int: ...
    def add_block(
        self,
        *,
        inverse_scale: float,
        zero: int,
        first: tuple[Steps, Floats, Floats],
        depthwise: tuple[Steps, Floats, Floats] | None,
        last: tuple[Steps, Floats, Floats],
        excitation: tuple[Floats, Floats, Floats, Floats] | None,
        relu: bool,
        norm: tuple[Floats, Floats] | None,
    ) -> None:
        """Add a block.

        `first` and `last` have weights `[out, in, n, n]`, `depthwise` `[C, 25]`; results of
        `first` and `depthwise` are uint8 steps, those of `last` float32.
        """

    def run(self, planes: Floats, out: Floats, *, threads: int = 1, vnni: bool = True) -> None:
        """Compute the trunk `[B, C, H, W]` from planes `[B, P, H, W]`."""
