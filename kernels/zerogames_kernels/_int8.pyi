import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Steps = NDArray[np.int8]
Layer = tuple[Steps, Floats, Floats]

def has_vnni() -> bool:
    """Whether this CPU multiplies int8 fast, and this variant knows how."""

class Pending:
    """A batch under way."""

    def finish(self) -> None:
        """Help until the outputs are there."""

class Trunk:
    """Stem and blocks of a net in int8.

    Layers are tuples of weight, scale `[out]` and bias `[out]`: sums become `sum * scale + bias`.
    For one caller at a time.
    """

    def __init__(self, height: int, width: int, weight: Floats, bias: Floats, relu: bool) -> None:
        """Begin with the stem, float32 weights `[C, P, n, n]`."""

    @property
    def output_shapes(self) -> list[tuple[int, ...]]:
        """Of each output without the batch: `[C, H, W]`, or `[n]` of chosen numbers."""

    def add_block(
        self,
        *,
        input: tuple[float, int],
        layers: tuple[Layer, Layer | None, Layer],
        excitation: tuple[Floats, Floats, Floats, Floats] | None,
        relu: bool,
        norm: tuple[Floats, Floats] | None,
    ) -> None:
        """Add a block.

        `input` is the inverse scale and the zero of the block's input as uint8 steps. The layers
        are the first, the depthwise one and the last: the outer ones have weights
        `[out, in, n, n]`, the depthwise one `[C, 25]`; results of the first two are uint8 steps,
        those of the last float32.
        """

    def add_output(
        self,
        layers: list[tuple[Floats, Floats, bool]],
        chosen: NDArray[np.int64] | None = None,
        dense: list[tuple[Floats, Floats, bool]] = ...,
    ) -> None:
        """Add an output: the trunk behind some float32 layers, each with or without a ReLU.

        `chosen` are the places of the flattened planes that are wanted, by default all planes;
        `dense` layers, weights `[out, in]`, take the flattened numbers.
        """

    def start(
        self, planes: Floats, outs: list[Floats], *, threads: int = 1, vnni: bool = True
    ) -> Pending:
        """Begin `run`; the outputs are there when the result is finished."""

    def run(
        self, planes: Floats, outs: list[Floats], *, threads: int = 1, vnni: bool = True
    ) -> None:
        """From planes `[B, P, H, W]` to the outputs, `[B, ...]` each."""
