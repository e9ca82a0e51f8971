import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

class Pending:
    """A batch under way."""

    def finish(self) -> None:
        """Help until the outputs are there."""

class Trunk:
    """Stem and blocks of a net in float32.

    Layers are tuples of weight and bias `[out]`. For one caller at a time.
    """

    def __init__(self, height: int, width: int, weight: Floats, bias: Floats, relu: bool) -> None:
        """Begin with the stem, weights `[C, P, n, n]`."""

    @property
    def output_shapes(self) -> list[tuple[int, ...]]:
        """Of each output without the batch: `[C, H, W]`, or `[n]` of chosen numbers."""

    def add_block(
        self,
        *,
        first: tuple[Floats, Floats],
        last: tuple[Floats, Floats],
        excitation: tuple[Floats, Floats, Floats, Floats] | None,
        relu: bool,
        norm: tuple[Floats, Floats] | None,
    ) -> None:
        """Add a block of two layers with weights `[out, in, n, n]`, n = 1 or 3.

        A ReLU is between them; `relu` says whether one is behind the sum.
        """

    def add_normed_block(
        self,
        *,
        before: tuple[Floats, Floats],
        first: tuple[Floats, Floats],
        last: tuple[Floats, Floats],
        bias: tuple[Floats, float] | None,
    ) -> None:
        """Add a block that begins with a norm (factors and summands `[C]`) and a ReLU.

        With `bias`, weights `[out, 3 * pooled]` and a factor, the last channels of the first layer
        are pooled over the board (averages, the same times the factor, maxima), and the dense layer
        of these is added to its other channels.
        """

    def set_tip(self, norm: tuple[Floats, Floats]) -> None:
        """End the trunk with a norm and a ReLU."""

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

    def start(self, planes: Floats, outs: list[Floats], *, threads: int = 1) -> Pending:
        """Begin `run`; the outputs are there when the result is finished."""

    def run(self, planes: Floats, outs: list[Floats], *, threads: int = 1) -> None:
        """From planes `[B, P, H, W]` to the outputs, `[B, ...]` each."""
