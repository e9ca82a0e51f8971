"""The program of a net as an ONNX graph.

Batch norms are folded into the convolutions before them. A tensor keeps its name; what a layer of
several nodes computes inside has the layer's name before its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from zerogames.errors import UserError
from zerogames.export.board_op import DOMAIN, KIND, VERSION, is_square, op_attributes
from zerogames.export.names import INPUT_PLANES, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_WDL
from zerogames.nets import program as p
from zerogames.nets.program import Array, Layer, Program, Tensor

OPSET = 20
OUTPUT_NAMES = {"policy": OUTPUT_POLICY, "wdl": OUTPUT_WDL, "moves_left": OUTPUT_MOVES_LEFT}
ONNX_FUNCTIONS = {
    "relu": "Relu",
    "mish": "Mish",
    "gelu": "Gelu",
    "selu": "Selu",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
}
"""The activations that are one node in ONNX."""


@dataclass(eq=False)
class OnnxWriter:
    """Writes one program."""

    program: Program
    half: bool = False
    """Whether the net computes in float16; planes and outputs stay float32."""
    board_op: bool = False
    """Whether masked depthwise layers become `zerogames.BoardDepthwise` instead of a 5x5
    convolution."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    _layer: Layer | None = None
    _used: dict[str, int] = field(default_factory=dict)
    _renamed: dict[str, str] = field(default_factory=dict)

    def model(self) -> onnx.ModelProto:
        """The whole model with a dynamic batch."""
        program, planes = self.program, INPUT_PLANES
        names = {tensor.name: name for name, tensor in program.outputs.items()}
        for layer in program.layers:
            self._layer = layer
            if self.half and layer.part != "input" and planes == INPUT_PLANES:
                source = layer.inputs[0]
                planes = self.op("Cast", self.name(source), to=TensorProto.FLOAT16)
                self._renamed[source.name] = planes
            if isinstance(layer, p.WinDrawLoss | p.MovesLeft):
                self.end(layer)
            elif layer.output.name in names:
                self._renamed[layer.output.name] = self.output_name(names[layer.output.name])
                self.leave(layer)
            else:
                self.write(layer)
        graph = helper.make_graph(
            self.nodes,
            program.name,
            [_value(INPUT_PLANES, program.planes.shape)],
            [_value(self.output_name(n), t.shape) for n, t in program.outputs.items()],
            list(self.constants.values()),
            value_info=self.board_values(),
        )
        opsets = [helper.make_opsetid("", OPSET)]
        if graph.value_info:
            opsets.append(helper.make_opsetid(DOMAIN, VERSION))
        model = helper.make_model(graph, opset_imports=opsets, producer_name="zerogames")
        model.ir_version = 10  # onnxruntime lags behind the newest
        return model

    def output_name(self, name: str) -> str:
        """The name of an output of the net."""
        return OUTPUT_NAMES.get(name, f"/output/{name}")

    def name(self, tensor: Tensor) -> str:
        """The name of a tensor in the graph."""
        known = INPUT_PLANES if tensor is self.program.planes else tensor.name
        return self._renamed.get(tensor.name, known)

    def leave(self, layer: Layer) -> None:
        """A layer whose result leaves the net, in float32."""
        outside = self._renamed[layer.output.name]
        if self.half:
            del self._renamed[layer.output.name]
        self.write(layer)
        if self.half:
            inside = self.name(layer.output)
            self.op("Cast", inside, output=outside, to=TensorProto.FLOAT)

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node inside the layer and return its output's name."""
        assert self._layer is not None
        if not output:
            name = f"{self._layer.output.name}:{kind}"
            count = self._used[name] = self._used.get(name, 0) + 1
            output = name if count == 1 else f"{name}_{count}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def result(self, layer: Layer, kind: str, *inputs: str, **attributes: Any) -> None:
        """Add the node that computes the layer's output."""
        self.op(kind, *inputs, output=self.name(layer.output), **attributes)

    def constant(self, array: NDArray[np.generic], name: str = "") -> str:
        """Add a constant tensor."""
        assert self._layer is not None
        name = name or f"{self._layer.output.name}:constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def numbers(self, *values: int) -> str:
        """A constant vector of integers."""
        return self.constant(np.array(values, np.int64))

    def weights(self, array: Array, name: str = "") -> str:
        """A constant of the type the net computes in."""
        if self.half:
            if array.size and np.abs(array).max() > np.finfo(np.float16).max:
                raise UserError(
                    f"{name or 'a constant'} of '{self.program.name}' has a number too large for "
                    "fp16; export it as fp32"
                )
            return self.constant(array.astype(np.float16), name)
        return self.constant(array, name)

    def sources(self, layer: Layer) -> list[str]:
        """The names of a layer's inputs."""
        return [self.name(tensor) for tensor in layer.inputs]

    @singledispatchmethod
    def write(self, layer: Layer) -> None:
        """Write a layer."""
        raise UserError(f"ONNX has no form of the layer {layer.name} ({layer.kind})")

    @write.register
    def _(self, layer: p.InputScale) -> None:
        self.result(layer, "Mul", *self.sources(layer), self.constant(layer.factors, "input/scale"))

    @write.register
    def _(self, layer: p.Convolution) -> None:
        name, activation = layer.name, self.program.only_reader(layer.output)
        if self.board_op and layer.is_depthwise and not is_square(layer.patterns):
            weight, bias = layer.folded
            relu = isinstance(activation, p.Activation) and activation.function == "relu"
            if relu:  # the operator has one inside
                assert activation is not None
                self._renamed[activation.output.name] = self.name(layer.output)
            self.result(
                layer,
                KIND,
                *self.sources(layer),
                self.weights(weight[:, 0], f"{name}.weight"),
                self.weights(bias, f"{name}.bias"),
                **op_attributes(layer.patterns, len(weight), relu=relu),
            )
            return
        weight = layer.window
        self.result(
            layer,
            "Conv",
            *self.sources(layer),
            self.weights(weight, f"{name}.weight"),
            self.weights(layer.folded[1], f"{name}.bias"),
            pads=[layer.size // 2] * 4,
            kernel_shape=list(weight.shape[2:]),
            group=layer.groups,
        )

    @write.register
    def _(self, layer: p.StemConvolution) -> None:
        [source], name = self.sources(layer), layer.name
        weight, middle = layer.window, layer.size // 2
        split, total = weight.shape[1] - layer.numbers, weight.shape[1]
        axis = self.numbers(1)
        planes = self.op("Slice", source, self.numbers(0), self.numbers(split), axis)
        ends = self.numbers(split, 0, 0), self.numbers(total, 1, 1)
        numbers = self.op("Slice", source, *ends, self.numbers(1, 2, 3))  # [B, N, 1, 1]
        found = self.op(
            "Conv",
            planes,
            self.weights(weight[:, :split], f"{name}.weight"),
            self.weights(layer.folded[1], f"{name}.bias"),
            pads=[middle] * 4,
            kernel_shape=list(weight.shape[2:]),
        )
        middles = weight[:, split:, middle, middle, None, None]
        told = self.weights(middles, f"{name}.numbers")
        self.result(layer, "Add", found, self.op("Conv", numbers, told, kernel_shape=[1, 1]))

    @write.register
    def _(self, layer: p.GlobalPooling) -> None:
        [source], (second, third) = self.sources(layer), layer.factors

        def scaled(factor: float) -> str:
            return self.op("Mul", means, self.weights(np.array(factor, np.float32)))

        means = self.op("GlobalAveragePool", source)
        last = self.op("GlobalMaxPool", source) if third is None else scaled(third)
        self.result(layer, "Flatten", self.op("Concat", means, scaled(second), last, axis=1))

    @write.register
    def _(self, layer: p.Dense) -> None:
        [source], (weight, bias) = self.sources(layer), layer.folded
        names = f"{layer.name}.weight", f"{layer.name}.bias"
        if len(layer.output.shape) == 1:
            parts = self.weights(weight, names[0]), self.weights(bias, names[1])
            self.result(layer, "Gemm", source, *parts, transB=1)
        elif layer.bias is None:
            self.result(layer, "MatMul", source, self.weights(weight.T, names[0]))
        else:
            product = self.op("MatMul", source, self.weights(weight.T, names[0]))
            self.result(layer, "Add", product, self.weights(bias, names[1]))

    @write.register
    def _(self, layer: p.BatchNorm) -> None:
        scale, shift = (part[:, None, None] for part in layer.norm.affine)
        scaled = self.op("Mul", *self.sources(layer), self.weights(scale, f"{layer.name}.scale"))
        self.result(layer, "Add", scaled, self.weights(shift, f"{layer.name}.shift"))

    @write.register
    def _(self, layer: p.LayerNorm) -> None:
        parts = [
            self.weights(layer.scale, f"{layer.name}.weight"),
            self.weights(layer.shift, f"{layer.name}.bias"),
        ]
        self.result(
            layer, "LayerNormalization", *self.sources(layer), *parts, epsilon=layer.epsilon
        )

    @write.register
    def _(self, layer: p.Activation) -> None:
        [source], function = self.sources(layer), layer.function
        if source == self.name(layer.output):
            return  # a board operator has computed it
        if function == "swish":
            self.result(layer, "Mul", source, self.op("Sigmoid", source))
        elif function == "relu2":
            positive = self.op("Relu", source)
            self.result(layer, "Mul", positive, positive)
        else:
            self.result(layer, ONNX_FUNCTIONS[function], source)

    @write.register
    def _(self, layer: p.Sum) -> None:
        self.result(layer, "Add", *self.sources(layer))

    @write.register
    def _(self, layer: p.Pooling) -> None:
        self.result(layer, "Flatten", self.op("GlobalAveragePool", *self.sources(layer)))

    @write.register
    def _(self, layer: p.Flatten) -> None:
        self.result(layer, "Flatten", *self.sources(layer))

    @write.register
    def _(self, layer: p.Tokens) -> None:
        points, channels = layer.output.shape
        shape = self.numbers(0, channels, points)
        self.result(
            layer, "Transpose", self.op("Reshape", *self.sources(layer), shape), perm=[0, 2, 1]
        )

    @write.register
    def _(self, layer: p.Planes) -> None:
        turned = self.op("Transpose", *self.sources(layer), perm=[0, 2, 1])
        self.result(layer, "Reshape", turned, self.numbers(0, *layer.output.shape))

    @write.register
    def _(self, layer: p.Gather) -> None:
        index = self.constant(layer.index.astype(np.int64))
        self.result(layer, "Gather", *self.sources(layer), index, axis=1)

    @write.register
    def _(self, layer: p.SqueezeExcitation) -> None:
        [source], name = self.sources(layer), layer.name
        channels = layer.output.shape[0]

        def dense(x: str, part: str, weight: Array, bias: Array) -> str:
            """Over `[B, C, 1, 1]`, as a 1x1 convolution."""
            kernel = self.weights(weight[:, :, None, None], f"{name}.{part}.weight")
            return self.op(
                "Conv", x, kernel, self.weights(bias, f"{name}.{part}.bias"), kernel_shape=[1, 1]
            )

        pooled = self.op("GlobalAveragePool", source)  # [B, C, 1, 1]
        hidden = dense(pooled, "squeeze", *layer.squeeze)
        hidden = self.op(ONNX_FUNCTIONS[layer.function], hidden)
        weight, bias = layer.excite
        scale = dense(hidden, "excite.scale", weight[:channels], bias[:channels])
        shift = dense(hidden, "excite.shift", weight[channels:], bias[channels:])
        scaled = self.op("Mul", source, self.op("Sigmoid", scale))
        self.result(layer, "Add", scaled, shift)

    @write.register
    def _(self, layer: p.Attention) -> None:
        query, key, value, *bias = self.sources(layer)
        tokens, width = layer.inputs[0].shape
        depth = width // layer.heads

        def split(x: str, perm: Sequence[int]) -> str:
            shaped = self.op("Reshape", x, self.numbers(0, tokens, layer.heads, -1))
            return self.op("Transpose", shaped, perm=perm)

        scale = self.weights(np.array(depth**-0.5, np.float32))
        scaled = self.op("Mul", split(query, [0, 2, 1, 3]), scale)
        logits = self.op("MatMul", scaled, split(key, [0, 2, 3, 1]))  # [B, heads, T, T]
        for one in bias:
            logits = self.op("Add", logits, one)
        shares = self.op("Softmax", logits, axis=-1)
        mixed = self.op("MatMul", shares, split(value, [0, 2, 1, 3]))
        mixed = self.op("Transpose", mixed, perm=[0, 2, 1, 3])
        self.result(layer, "Reshape", mixed, self.numbers(0, *layer.output.shape))

    @write.register
    def _(self, layer: p.Weights) -> None:
        self._renamed[layer.output.name] = self.weights(layer.value, layer.name)

    @write.register
    def _(self, layer: p.Operator) -> None:
        tensors = iter(self.sources(layer))
        operands = []
        for place in range(len(layer.inputs) + len(layer.constants)):
            value = layer.constants.get(place)
            if value is None:
                operands.append(next(tensors))
            elif value.dtype == np.float32:
                operands.append(self.weights(value.astype(np.float32)))
            else:
                operands.append(self.constant(value))
        self.result(layer, layer.operator, *operands, **layer.attributes)

    @singledispatchmethod
    def end(self, layer: Layer) -> None:
        """Write a layer that gives an output of the net from raw numbers, in float32."""
        raise NotImplementedError

    @end.register
    def _(self, layer: p.WinDrawLoss) -> None:
        raw = self.float32(layer)
        if layer.value == "wdl":
            self.op("Softmax", raw, axis=1, output=OUTPUT_WDL)
            return
        if layer.first_player_plane is not None:
            raw = self.op("Mul", raw, self.side_sign(layer.first_player_plane))
        if layer.value == "scalar":
            # (1 + tanh z) / 2 is sigmoid(2 z).
            raw = self.op("Mul", raw, self.constant(np.array(2, np.float32)))
        win = self.op("Sigmoid", raw)
        loss = self.op("Sub", self.constant(np.array(1, np.float32)), win)
        draw = self.op("Sub", win, win)
        self.op("Concat", win, draw, loss, axis=1, output=OUTPUT_WDL)

    @end.register
    def _(self, layer: p.MovesLeft) -> None:
        plies = self.op("Relu", self.float32(layer))
        self.op("Squeeze", plies, self.numbers(1), output=OUTPUT_MOVES_LEFT)

    def float32(self, layer: Layer) -> str:
        """The first input, from the type that the net computes in to float32."""
        raw = self.sources(layer)[0]
        return self.op("Cast", raw, to=TensorProto.FLOAT) if self.half else raw

    def side_sign(self, plane: int) -> str:
        """`[B, 1]`: -1 where the plane is one (the first player moves), else 1."""
        ends = self.numbers(plane, 0, 0), self.numbers(plane + 1, 1, 1)
        cell = self.op("Slice", INPUT_PLANES, *ends, self.numbers(1, 2, 3))
        flat = self.op("Reshape", cell, self.numbers(-1, 1))
        one = self.constant(np.array(1, np.float32))
        return self.op("Sub", one, self.op("Add", flat, flat))

    def board_values(self) -> list[onnx.ValueInfoProto]:
        """The shapes behind the board operators, which tools cannot know."""
        kind = TensorProto.FLOAT16 if self.half else TensorProto.FLOAT
        return [
            _value(
                node.output[0],
                [helper.get_node_attr_value(node, "channels"), *self.program.board],
                kind,
            )
            for node in self.nodes
            if node.domain == DOMAIN
        ]


def _value(name: str, shape: Sequence[int], kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, ["batch", *shape])
