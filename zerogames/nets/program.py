"""A net as a program: typed layers in order, with their weights.

Everything that is not torch is made from it: ONNX, the files of our native trunks, TensorRT,
parameter counts, arithmetic and memory. `zerogames.nets.program_writer` writes one from the torch
module. Shapes are those of one position: planes are `[C, H, W]`, tokens `[H * W, C]`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from zerogames_kernels import Pattern
from zerogames_kernels.pattern import RADIUS

Array = NDArray[np.float32]
WINDOW = 2 * RADIUS + 1


@dataclass(frozen=True, eq=False)
class Tensor:
    """What a layer computes, or the net's input."""

    name: str
    shape: tuple[int, ...]
    """Without the batch."""

    @property
    def size(self) -> int:
        """The number of elements for one position."""
        return prod(self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class Norm:
    """A batch norm with the statistics that it has learnt, each `[C]`."""

    name: str
    mean: Array
    variance: Array
    scale: Array | None
    shift: Array
    epsilon: float

    @cached_property
    def affine(self) -> tuple[Array, Array]:
        """The factor and the summand of each channel."""
        scale = 1 / np.sqrt(self.variance.astype(np.float64) + self.epsilon)
        if self.scale is not None:
            scale *= self.scale
        shift = self.shift - self.mean * scale
        return scale.astype(np.float32), shift.astype(np.float32)

    @property
    def parameters(self) -> int:
        """What training changes."""
        return self.shift.size + (0 if self.scale is None else self.scale.size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """A step of the program."""

    name: str
    """The module's name in the net file, e.g. `blocks.0.conv1`; of a layer without weights, that of
    the block or head around it."""
    part: str
    """`input`, `stem`, `blocks`, `policy`, `value` or `moves_left`."""
    inputs: tuple[Tensor, ...]
    output: Tensor

    @property
    def kind(self) -> str:
        """What it is, for people."""
        return type(self).__name__

    @property
    def parameters(self) -> int:
        """Numbers that training changes."""
        return 0

    @property
    def macs(self) -> int:
        """Multiply-adds for one position."""
        return 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted(Layer):
    """A layer with weights, a bias and perhaps a batch norm behind it."""

    weight: Array
    """`[out, ...]`."""
    bias: Array | None
    norm: Norm | None = None

    @cached_property
    def folded(self) -> tuple[Array, Array]:
        """Weights as `weight` and bias `[out]` of the equal layer without the norm."""
        weight, bias = self.weight, self.bias
        if bias is None:
            bias = np.zeros(len(weight), np.float32)
        if self.norm is None:
            return weight, bias
        scale, shift = self.norm.affine
        return weight * scale.reshape(-1, *[1] * (weight.ndim - 1)), bias * scale + shift

    @property
    def parameters(self) -> int:
        """With those of the norm."""
        bias = 0 if self.bias is None else self.bias.size
        return self.weight.size + bias + (0 if self.norm is None else self.norm.parameters)

    @property
    def macs(self) -> int:
        """Every weight is used once at each point or token."""
        shape = self.output.shape
        points = shape[1:] if isinstance(self, Convolution) else shape[:-1]
        return self.weight.size * prod(points)


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolution(Weighted):
    """A convolution that keeps the board's size.

    Weights are `[out, in / groups, n, n]`; with patterns only their taps, `[out, in / groups, K]`.
    """

    patterns: tuple[Pattern, ...] = ()
    """One for each group of output channels; none for a full square."""
    groups: int = 1

    @property
    def is_depthwise(self) -> bool:
        """One input channel for each output channel."""
        return self.groups > 1 and self.groups == len(self.weight)

    @property
    def size(self) -> int:
        """Rows of the window."""
        return int(self.window.shape[2])

    @cached_property
    def window(self) -> Array:
        """The folded weights `[out, in / groups, n, n]` with zeros between the taps."""
        weight = self.folded[0]
        return spread(weight, self.patterns) if self.patterns else weight

    @property
    def kind(self) -> str:
        """With the window's size."""
        what = "depthwise" if self.is_depthwise else "convolution"
        taps = f"{self.weight.shape[2]} taps" if self.patterns else f"{self.size}x{self.size}"
        return f"{what} {taps}"


@dataclass(frozen=True, eq=False, kw_only=True)
class StemConvolution(Convolution):
    """A convolution of the net's first planes, and a dense layer of the others.

    Those are the same everywhere: each gives a number to every channel, at every point. In `weight`
    they are planes of which only the middle of the window counts, so that a reader may take it for
    a convolution of all planes.
    """

    numbers: int
    """Planes that are the same everywhere."""

    @property
    def parameters(self) -> int:
        """Without the zeros around the numbers' weights."""
        channels = len(self.weight)
        return super().parameters - channels * self.numbers * (self.size * self.size - 1)

    @property
    def macs(self) -> int:
        """Those of the planes; and one for each number and channel."""
        channels, planes = len(self.weight), int(self.weight.shape[1]) - self.numbers
        points: int = prod(self.output.shape[1:])
        return channels * (planes * self.size * self.size * points + self.numbers)


@dataclass(frozen=True, eq=False, kw_only=True)
class Dense(Weighted):
    """A dense layer over the last axis: of `[n]`, or of every token."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchNorm(Layer):
    """A batch norm of planes that no convolution can take up."""

    norm: Norm

    @property
    def parameters(self) -> int:
        """The norm's."""
        return self.norm.parameters


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerNorm(Layer):
    """A norm over the last axis."""

    scale: Array
    shift: Array
    epsilon: float

    @property
    def parameters(self) -> int:
        """Scale and shift."""
        return self.scale.size + self.shift.size


@dataclass(frozen=True, eq=False, kw_only=True)
class Activation(Layer):
    """A function of each number."""

    function: str
    """A name in `zerogames.nets.layers.ACTIVATIONS`."""

    @property
    def kind(self) -> str:
        """The function."""
        return self.function


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(Layer):
    """The sum of two tensors."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Pooling(Layer):
    """The average of planes over the board, `[C]`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GlobalPooling(Layer):
    """Averages over the board, the same scaled, and maxima or averages scaled again: `[3 C]`."""

    factors: tuple[float, float | None]
    """Of the second and third part; none: maxima."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Flatten(Layer):
    """All numbers in a row."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Tokens(Layer):
    """Planes `[C, H, W]` as a token for each point, `[H * W, C]`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Planes(Layer):
    """Tokens `[H * W, C]` as planes `[C, H, W]`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Gather(Layer):
    """Some of the numbers `[n]`, by their places."""

    index: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SqueezeExcitation(Layer):
    """`sigmoid(scale) * x + shift`, both `[C]` from two dense layers over the pooled planes."""

    squeeze: tuple[Array, Array]
    """Weight `[hidden, C]` and bias."""
    excite: tuple[Array, Array]
    """Weight `[2 C, hidden]` and bias: scales, then shifts."""
    function: str
    """The activation of the hidden units."""

    @property
    def parameters(self) -> int:
        """Those of both dense layers."""
        return sum(array.size for array in (*self.squeeze, *self.excite))

    @property
    def macs(self) -> int:
        """Those of both dense layers."""
        return self.squeeze[0].size + self.excite[0].size


@dataclass(frozen=True, eq=False, kw_only=True)
class Attention(Layer):
    """Attention of tokens `[T, heads * d]` to each other, from queries, keys and values.

    A fourth input is added to the products of queries and keys, `[heads, T, T]`.
    """

    heads: int

    @property
    def macs(self) -> int:
        """Queries with keys, and weights with values."""
        query, _, value = self.inputs[:3]
        return query.shape[0] * (query.size + value.size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Weights(Layer):
    """Learnt numbers that are no layer's: a table. Its output has no batch."""

    value: Array
    trainable: int | None = None
    """The numbers from which the table is made; by default it is as learnt."""

    @property
    def parameters(self) -> int:
        """What training changes."""
        return self.value.size if self.trainable is None else self.trainable


@dataclass(frozen=True, eq=False, kw_only=True)
class Operator(Layer):
    """Any operator of ONNX with one output, for layers that no reader but ONNX's need know."""

    operator: str
    """ONNX's name."""
    constants: Mapping[int, NDArray[np.generic]] = field(default_factory=dict)
    """Operands that are numbers, by their place; the others are the inputs, in order."""
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """ONNX's name."""
        return self.operator

    @property
    def macs(self) -> int:
        """Of a product of matrices."""
        if self.operator != "MatMul" or len(self.inputs) < 2:
            return 0
        return self.output.size * self.inputs[0].shape[-1]


@dataclass(frozen=True, eq=False, kw_only=True)
class InputScale(Layer):
    """Each plane times a factor."""

    factors: Array
    """`[P, 1, 1]`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WinDrawLoss(Layer):
    """The value head's raw numbers as probabilities `[3]`, see `zerogames.nets.win_draw_loss`.

    A second input are the net's planes: the raw number changes its sign where the plane
    `first_player_plane` is one.
    """

    value: Literal["wdl", "scalar", "binary"]
    first_player_plane: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class MovesLeft(Layer):
    """The raw number `[1]` as plies, not below 0; its output has the shape `[]`."""


@dataclass(eq=False)
class Program:
    """The layers of a net in the order of computation."""

    name: str
    """The net's name."""
    planes: Tensor
    """The input, `[P, H, W]`."""
    layers: list[Layer] = field(default_factory=list)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    """`policy`, `wdl`, perhaps `moves_left`, and named extras."""

    @property
    def board(self) -> tuple[int, int]:
        """Height and width."""
        return self.planes.shape[1], self.planes.shape[2]

    @cached_property
    def readers(self) -> Mapping[str, Sequence[Layer]]:
        """The layers that read each tensor, by its name; read it when the program is complete."""
        found: dict[str, list[Layer]] = {}
        for layer in self.layers:
            for source in layer.inputs:
                found.setdefault(source.name, []).append(layer)
        return found

    def only_reader(self, tensor: Tensor) -> Layer | None:
        """The layer that reads a tensor if it is the only one and the tensor no output."""
        readers = self.readers.get(tensor.name, ())
        is_output = any(tensor is output for output in self.outputs.values())
        return readers[0] if len(readers) == 1 and not is_output else None

    def of_parts(self, *parts: str) -> Iterator[Layer]:
        """The layers of some parts of the net."""
        return (layer for layer in self.layers if layer.part in parts)


def spread(weight: Array, patterns: Sequence[Pattern]) -> Array:
    """Compact taps `[out, in, K]` in their window, `[out, in, n, n]`, n the smallest odd size."""
    out_channels, in_channels, _ = weight.shape
    window = np.zeros((out_channels, in_channels, WINDOW, WINDOW), np.float32)
    small, larger = divmod(out_channels, len(patterns))
    first = 0
    for group, pattern in enumerate(patterns):
        last = first + small + (group < larger)
        for tap, (row, column) in enumerate(pattern.offsets):
            window[first:last, :, row + RADIUS, column + RADIUS] = weight[first:last, :, tap]
        first = last
    reach = max(max(abs(row), abs(column)) for p in patterns for row, column in p.offsets)
    inner = slice(RADIUS - reach, RADIUS + reach + 1)
    return window[:, :, inner, inner]
