"""Turning a net's ONNX graph into one whose layers compute in int8.

Weights become int8 with a step for each output channel, activations uint8 with one step for each
tensor that a layer reads, and one for each channel of what a block adds to the trunk. The graph
says so with pairs of QuantizeLinear and DequantizeLinear (QDQ), which runtimes fuse with the layer
between them. Behind a ReLU the uint8 numbers begin at 0, so that rounding is the ReLU. Sums of
blocks, squeeze-and-excitation, value and moves left stay in float32.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from zerogames.export.activations import (
    InputMoments,
    Range,
    find_largest,
    find_moments,
    find_ranges,
)
from zerogames.export.int8_plan import PLAN_KEY, plan_int8
from zerogames.export.onnx_graph import OnnxWriter
from zerogames.export.rounding import LARGEST, channel_scales, round_plainly, round_with_inputs
from zerogames.nets.program import (
    Activation,
    Convolution,
    Dense,
    GlobalPooling,
    Pooling,
    Program,
    StemConvolution,
    Weighted,
)

Array = NDArray[np.float32]
FLOAT_PARTS = ("value", "moves_left")
"""Small layers, like squeeze-and-excitation: int8 would save nothing and cost accuracy."""
_MIDDLE = 128
"""The uint8 step that means 0 in a tensor with both signs."""
Kept = Callable[[Weighted, Program], bool]
"""Whether a layer stays in float32."""


@dataclass(frozen=True)
class Layer:
    """A convolution or dense layer that can be int8."""

    layer: Weighted
    node: onnx.NodeProto
    """The layer in float32."""
    result: str
    """The layer's output, behind the ReLU if one follows."""
    weight: Array
    bias: Array

    @property
    def name(self) -> str:
        """The layer's name in the net's file, e.g. `blocks.0.expand`."""
        return self.layer.name

    @property
    def is_convolution(self) -> bool:
        """A convolution; else a dense layer."""
        return isinstance(self.layer, Convolution)

    @property
    def is_depthwise(self) -> bool:
        """One input channel for each output channel."""
        return isinstance(self.layer, Convolution) and self.layer.is_depthwise

    @property
    def source(self) -> str:
        """The tensor it reads."""
        return str(self.node.input[0])


def can_be_int8(layer: object, program: Program) -> TypeGuard[Weighted]:
    """Whether a layer is one that int8 makes faster: not of a small head, nor of tokens."""
    if not isinstance(layer, Convolution | Dense) or layer.part in FLOAT_PARTS:
        return False
    if isinstance(layer, StemConvolution):
        return False
    pooled = any(
        isinstance(one, Pooling | GlobalPooling) and one.output is layer.inputs[0]
        for one in program.layers
    )
    return not pooled and (isinstance(layer, Convolution) or len(layer.output.shape) == 1)


def find_layers(
    program: Program, model: onnx.ModelProto, kept: Kept = lambda *_: False
) -> list[Layer]:
    """The layers that become int8 in a program and its ONNX form, without those that are `kept`."""
    writer = OnnxWriter(program)
    nodes = {node.output[0]: node for node in model.graph.node}
    names = {tensor.name: name for name, tensor in program.outputs.items()}
    layers = []
    for layer in program.layers:
        if not can_be_int8(layer, program) or kept(layer, program):
            continue
        written = names.get(layer.output.name)
        name = writer.output_name(written) if written else layer.output.name
        following = program.only_reader(layer.output)
        relu = isinstance(following, Activation) and following.function == "relu"
        result = following.output.name if relu and following else name
        weight, bias = layer.folded
        if isinstance(layer, Convolution):
            weight = layer.window
        layers.append(Layer(layer, nodes[name], result, weight, bias))
    return layers


class Quantizer:
    """Turns a net to int8, with any of its layers left in float32.

    Args:
        program: The net.
        planes: Positions `[n, P, H, W]` that show which numbers occur.
    """

    def __init__(self, program: Program, planes: Array) -> None:
        self._program = program
        self._model = model = OnnxWriter(program).model()
        layers = find_layers(program, model)
        tensors = {layer.source for layer in layers}
        tensors |= {layer.result for layer in layers if layer.is_convolution}
        self._ranges = find_ranges(model, sorted(tensors), planes)
        summands = [layer.result for layer in layers if is_summand(layer, layers)]
        self._largest = find_largest(model, summands, planes)
        windows = {
            layer.name: (layer.source, layer.weight.shape[2] if layer.is_convolution else 1)
            for layer in layers
            if not layer.is_depthwise
        }
        moments = find_moments(model, windows, self._ranges, planes)
        self._rounded = {layer.name: _round(layer, moments.get(layer.name)) for layer in layers}

    def build(self, kept: Kept = lambda *_: False) -> onnx.ModelProto:
        """The int8 model, with the plan of what our kernels compute of it if they have its layers.

        Args:
            kept: Says which layers stay as they are.
        """
        layers = find_layers(self._program, self._model, kept)
        rewriting = _Rewriting(self._model, layers, self._ranges, self._largest, self._rounded)
        model = rewriting.model()
        plan = plan_int8(self._program, layers)
        if plan is not None:
            helper.set_model_props(model, {PLAN_KEY: json.dumps(plan)})
        return model


def is_summand(layer: Layer, layers: Collection[Layer]) -> bool:
    """Whether a layer's result has both signs and no layer reads it: a block adds it to the trunk.

    Logits do not count: the best ones must not be clipped where positions are unusual.
    """
    return (
        layer.is_convolution
        and layer.result == layer.node.output[0]
        and layer.layer.part != "policy"
        and all(layer.result != other.source for other in layers)
    )


@dataclass(frozen=True)
class RoundedLayer:
    """Weights `[out, ...]` as steps, the steps' sizes `[out]`, and the bias `[out]`."""

    steps: NDArray[np.int8]
    scales: Array
    bias: NDArray[np.float64]


def _round(layer: Layer, moments: InputMoments | None) -> RoundedLayer:
    weight, scales = layer.weight, channel_scales(layer.weight)
    bias = layer.bias.astype(np.float64)
    if moments is None:
        return RoundedLayer(round_plainly(weight, scales), scales, bias)
    steps = round_with_inputs(weight, scales, moments.second)
    # What rounding the inputs shifts on average.
    bias = bias + weight.reshape(len(weight), -1) @ moments.mean_error
    return RoundedLayer(steps, scales, bias)


class _Rewriting:
    """Builds the graph anew, node by node."""

    def __init__(
        self,
        model: onnx.ModelProto,
        layers: list[Layer],
        ranges: dict[str, Range],
        largest: dict[str, Array],
        rounded: dict[str, RoundedLayer],
    ) -> None:
        self._original = model
        self._layers = {layer.node.output[0]: layer for layer in layers}
        self._results = {layer.result for layer in layers if layer.is_convolution}
        read = {layer.source for layer in layers} | self._results
        self._ranges = {name: known for name, known in ranges.items() if name in read}
        self._largest = largest
        self._rounded = rounded
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._paired: set[str] = set()

    def model(self) -> onnx.ModelProto:
        """The whole model, with the original's inputs, outputs and metadata."""
        graph = self._original.graph
        for name in (value.name for value in graph.input):
            self._pair(name, name)
        for node in graph.node:
            layer = self._layers.get(node.output[0])
            if layer is not None:
                self._add_layer(layer)
            elif not (node.op_type == "Relu" and node.output[0] in self._results):
                copy = onnx.NodeProto()
                copy.CopyFrom(node)
                copy.input[:] = [
                    self._seen(name) if name in self._results else name for name in node.input
                ]
                self._nodes.append(copy)
                for name in node.output:
                    self._pair(name, name)
        result = onnx.ModelProto()
        result.CopyFrom(self._original)
        del result.graph.node[:], result.graph.initializer[:]
        result.graph.node.extend(self._nodes)
        read = {name for node in self._nodes for name in node.input}
        originals = {c.name: c for c in graph.initializer if c.name in read}
        result.graph.initializer.extend({**originals, **self._constants}.values())
        return result

    def _constant(self, name: str, array: NDArray[np.generic]) -> str:
        self._constants[name] = numpy_helper.from_array(array, name)
        return name

    def _seen(self, tensor: str) -> str:
        """A tensor as uint8 sees it."""
        return f"{tensor}/dequantized"

    def _pair(self, tensor: str, source: str) -> None:
        """Round a tensor that layers read, and turn it back."""
        if tensor not in self._ranges or tensor in self._paired:
            return
        self._paired.add(tensor)
        rounded, seen = f"{tensor}/quantized", self._seen(tensor)
        known, channels = self._ranges[tensor], self._largest.get(tensor)
        # With a scale for each channel the layer itself brings all channels to steps of 1.
        scale = known.scale if channels is None else np.float32(1)
        zero = known.zero_point if channels is None else _MIDDLE
        pair = [
            self._constant(f"{tensor}/scale", np.array(scale)),
            self._constant(f"{tensor}/zero", np.array(zero, np.uint8)),
        ]
        back = seen if channels is None else f"{tensor}/steps"
        self._nodes += [
            helper.make_node("QuantizeLinear", [source, *pair], [rounded]),
            helper.make_node("DequantizeLinear", [rounded, *pair], [back]),
        ]
        if channels is not None:
            scales = self._constant(f"{tensor}/scales", (channels / LARGEST)[:, None, None])
            self._nodes.append(helper.make_node("Mul", [back, scales], [seen]))

    def _add_layer(self, layer: Layer) -> None:
        name, rounded = layer.name, self._rounded[layer.name]
        scales = rounded.scales
        bias_scales = scales * self._ranges[layer.source].scale
        bias_steps = np.clip(np.rint(rounded.bias / bias_scales), -(2**31) + 1, 2**31 - 1)
        channels = self._largest.get(layer.result)
        if channels is not None:
            to_steps = np.float32(LARGEST) / channels
            scales, bias_scales = scales * to_steps, bias_scales * to_steps
        inputs = [self._seen(layer.source)]
        for kind, array, scale in (
            ("weight", rounded.steps, scales),
            ("bias", bias_steps.astype(np.int32), bias_scales),
        ):
            value = self._constant(f"{name}.{kind}", array)
            factor = self._constant(f"{name}.{kind}.scale", scale)
            inputs.append(f"{name}.{kind}/dequantized")
            self._nodes.append(
                helper.make_node("DequantizeLinear", [value, factor], inputs[-1:], axis=0)
            )
        node = onnx.NodeProto()
        node.CopyFrom(layer.node)
        node.input[:] = inputs
        self._nodes.append(node)
        if layer.is_convolution:  # the logits of a dense layer stay float32
            self._pair(layer.result, node.output[0])
