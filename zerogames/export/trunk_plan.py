"""The part of a program that our own kernels compute: a stem, blocks of two or three layers, heads.

A block is what its layers are, whoever wrote them: a convolution, ReLU, perhaps a depthwise layer
with ReLU, a convolution, perhaps squeeze-and-excitation, the sum with the block's input, perhaps a
ReLU and a batch norm. Or, as in KataGo's nets, a batch norm and ReLU, a convolution, perhaps a bias
from the whole board, a norm and ReLU, a convolution, the sum. Of a head go with the trunk: plain
convolutions, the choice of actions from planes, and small dense layers. The rest is left to
onnxruntime.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from zerogames.nets.program import (
    Activation,
    Array,
    BatchNorm,
    Convolution,
    Dense,
    Flatten,
    Gather,
    GlobalPooling,
    InputScale,
    Layer,
    Operator,
    Program,
    SqueezeExcitation,
    Sum,
    Tensor,
    Weighted,
)

LayerType = TypeVar("LayerType", bound=Layer)

LARGEST_DENSE = 1 << 19
"""Weights of a dense layer that our kernels fetch anew for every few positions; onnxruntime is
better with more."""


@dataclass(frozen=True, eq=False)
class PlannedBias:
    """A bias from the whole board, added to what a block's first layer computes; then a norm."""

    convolution: Convolution
    pooling: GlobalPooling
    dense: Dense
    norm: BatchNorm


@dataclass(frozen=True, eq=False)
class PlannedBlock:
    """The layers of a block."""

    first: Convolution
    depthwise: Convolution | None
    last: Convolution
    excitation: SqueezeExcitation | None
    relu: bool
    """Whether one follows the sum."""
    norm: BatchNorm | None
    before: BatchNorm | None = None
    """In front of the first layer, with a ReLU."""
    bias: PlannedBias | None = None
    """Behind the first layer."""


@dataclass(frozen=True, eq=False)
class PlannedOutput:
    """An output of the kernels, which the rest of the net takes."""

    value: Tensor
    layers: tuple[tuple[Convolution, bool], ...] = ()
    """The layers behind the trunk, and whether a ReLU follows; none: the trunk itself."""
    chosen: NDArray[np.int64] | None = None
    """Places of the flattened planes that are wanted, if not all."""
    dense: tuple[tuple[Dense, bool], ...] = ()
    """Layers that take the flattened planes."""


@dataclass(frozen=True, eq=False)
class TrunkPlan:
    """What the kernels compute of a program."""

    program: Program
    scale: InputScale | None
    stem: Convolution
    stem_relu: bool
    blocks: tuple[PlannedBlock, ...]
    tip: BatchNorm | None
    """Behind the last block, with a ReLU."""
    trunk: Tensor

    def outputs(self, is_float: Callable[[Layer], bool] = lambda _: True) -> list[PlannedOutput]:
        """The outputs at which the kernels end; only float layers of heads go with the trunk."""
        readers = self.program.readers[self.trunk.name]
        chains = [_chain(self.program, layer, is_float) for layer in readers]
        found = [chain for chain in chains if chain is not None]
        return found if len(found) == len(readers) else [*found, PlannedOutput(self.trunk)]

    def stem_weights(self, weight: Array) -> Array:
        """Weights of the stem with the input's scale in them."""
        return weight if self.scale is None else weight * self.scale.factors.reshape(1, -1, 1, 1)


class _Cursor:
    """Walks over the layers of the trunk."""

    def __init__(self, program: Program) -> None:
        self.layers = list(program.of_parts("input", "stem", "blocks", "tip"))
        self.at = program.planes
        """What was computed last."""

    def take(self, kind: type[LayerType]) -> LayerType | None:
        """The next layer, if it is of a kind and reads what was computed last."""
        layer = self.layers[0] if self.layers else None
        if not isinstance(layer, kind) or all(source is not self.at for source in layer.inputs):
            return None
        del self.layers[0]
        self.at = layer.output
        return layer

    def take_norm(self, *, relu: bool) -> BatchNorm | None:
        """Take a batch norm if it comes next, one with a ReLU behind it or one without."""
        following = self.layers[1] if len(self.layers) > 1 else None
        has_relu = isinstance(following, Activation) and following.function == "relu"
        norm = self.take(BatchNorm) if has_relu == relu else None
        if norm is not None and relu:
            self.take_relu()
        return norm

    def take_bias(self, planes: Tensor) -> PlannedBias | None:
        """The layers of a bias from the whole board, and the norm and ReLU behind the sum."""
        first, self.at = self.at, planes
        convolution = self.take(Convolution)
        if convolution is None or not self.take_relu():
            return None
        pooling, dense, wide = self.take(GlobalPooling), self.take(Dense), self.take(Operator)
        total = self.take(Sum)
        norm = self.take_norm(relu=True)
        if pooling is None or dense is None or wide is None or total is None or norm is None:
            return None
        if wide.operator != "Unsqueeze" or total.inputs[0] is not first or dense.bias is not None:
            return None
        if convolution.groups != 1 or pooling.factors[1] is not None:
            return None
        return PlannedBias(convolution, pooling, dense, norm)

    def take_relu(self) -> bool:
        """Take a ReLU if it comes next."""
        following = self.layers[0] if self.layers else None
        if not isinstance(following, Activation) or following.function != "relu":
            return False
        return self.take(Activation) is not None

    def take_block(self) -> PlannedBlock | None:
        """The layers of a block; None if something else comes next."""
        start = self.at
        before = self.take_norm(relu=True)
        planes, first, bias = self.at, self.take(Convolution), None
        if first is None:
            return None
        if not self.take_relu():
            bias = None if before is None else self.take_bias(planes)
            if bias is None:
                return None
        last, depthwise = self.take(Convolution), None
        if last is not None and last.is_depthwise and self.take_relu():
            last, depthwise = self.take(Convolution), last
        excitation = self.take(SqueezeExcitation)
        total = self.take(Sum)
        if last is None or total is None or all(source is not start for source in total.inputs):
            return None
        if first.groups != 1 or last.groups != 1:
            return None
        if excitation is not None and excitation.function != "relu":
            return None
        relu, norm = self.take_relu(), self.take_norm(relu=False)
        if before is not None and (depthwise or excitation or relu or norm):
            return None
        return PlannedBlock(first, depthwise, last, excitation, relu, norm, before, bias)


def plan_trunk(program: Program) -> TrunkPlan | None:
    """What our kernels can compute of a program; None if they do not have its layers."""
    cursor = _Cursor(program)
    scale, stem = cursor.take(InputScale), cursor.take(Convolution)
    if stem is None or stem.groups != 1:
        return None
    stem_relu, blocks = cursor.take_relu(), list[PlannedBlock]()
    while cursor.layers and cursor.layers[0].part != "tip":
        block = cursor.take_block()
        if block is None:
            return None
        blocks.append(block)
    tip = cursor.take_norm(relu=True)
    if cursor.layers:
        return None
    return TrunkPlan(program, scale, stem, stem_relu, tuple(blocks), tip, cursor.at)


def _chain(
    program: Program, layer: Layer | None, is_float: Callable[[Layer], bool]
) -> PlannedOutput | None:
    """The convolutions in a row that begin with a layer, and what may follow them."""
    planes, layer = _row(program, layer, Convolution, lambda one: _is_plain(one) and is_float(one))
    if not planes:
        return None
    value = planes[-1][0].output if not planes[-1][1] else _relu_of(program, planes[-1][0]).output
    if not isinstance(layer, Flatten):
        return PlannedOutput(value, planes)
    flat = program.only_reader(layer.output)
    if isinstance(flat, Gather):
        return PlannedOutput(flat.output, planes, chosen=flat.index)
    dense, _ = _row(program, flat, Dense, lambda one: _is_small(one) and is_float(one))
    if dense:
        last, relu = dense[-1]
        value = _relu_of(program, last).output if relu else last.output
    return PlannedOutput(value, planes, dense=dense)


WeightedType = TypeVar("WeightedType", bound=Weighted)


def _row(
    program: Program,
    layer: Layer | None,
    kind: type[WeightedType],
    fits: Callable[[WeightedType], bool],
) -> tuple[tuple[tuple[WeightedType, bool], ...], Layer | None]:
    """Layers of a kind, each with a ReLU behind it or not, and what follows them."""
    found: list[tuple[WeightedType, bool]] = []
    while isinstance(layer, kind) and fits(layer):
        following = program.only_reader(layer.output)
        relu = isinstance(following, Activation) and following.function == "relu"
        found.append((layer, relu))
        layer = program.only_reader(following.output) if relu and following else following
    return tuple(found), layer


def _relu_of(program: Program, layer: Layer) -> Layer:
    relu = program.only_reader(layer.output)
    assert relu is not None
    return relu


def _is_plain(layer: Convolution) -> bool:
    return layer.groups == 1 and layer.size in (1, 3)


def _is_small(layer: Dense) -> bool:
    return layer.weight.size <= LARGEST_DENSE and layer.bias is not None


def rest_of_net(model: onnx.ModelProto, outputs: dict[str, tuple[int, ...]]) -> onnx.ModelProto:
    """The model behind the kernels: its inputs are their outputs, and the planes if it needs them.

    Args:
        model: The whole net.
        outputs: The shapes of the kernels' outputs by name, without the batch.
    """
    makers = {name: node for node in model.graph.node for name in node.output}
    results = [value for value in model.graph.output if value.name not in outputs]
    wanted, needed = [value.name for value in results], set[str]()
    while wanted:
        name = wanted.pop()
        if name in needed:
            continue
        needed.add(name)
        if name not in outputs and name in makers:
            wanted.extend(makers[name].input)
    rest = onnx.ModelProto()
    rest.CopyFrom(model)
    for part in ("node", "initializer", "input", "output"):
        rest.graph.ClearField(part)
    rest.graph.input.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])
        for name, shape in outputs.items()
        if name in needed
    )
    rest.graph.input.extend(value for value in model.graph.input if value.name in needed)
    rest.graph.output.extend(results)
    rest.graph.node.extend(
        node
        for node in model.graph.node
        if any(name in needed and name not in outputs for name in node.output)
    )
    rest.graph.initializer.extend(c for c in model.graph.initializer if c.name in needed)
    return rest
