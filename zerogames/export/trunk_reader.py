"""Finding the trunk in an exported net, for kernels of our own that compute it.

Layers are known by the names that `zerogames.export.onnx_graph` and `zerogames.export.qdq` give.
The first layers of a head that are plain convolutions go with the trunk, and so do the choice of
actions from policy planes and small dense layers; the rest of the net is left as a model of its
own, for onnxruntime.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from zerogames.export.names import INPUT_PLANES

Number = TypeVar("Number", bound=np.generic)
Floats = NDArray[np.float32]
Excitation = tuple[Floats, Floats, Floats, Floats]
HeadLayer = tuple[Floats, Floats, bool]
"""Weight `[out, in, n, n]`, or `[out, in]` of a dense layer, bias, and whether a ReLU follows."""

LARGEST_DENSE = 1 << 19
"""Weights of a dense layer that our kernels fetch anew for every few positions; onnxruntime is
better with more."""

WINDOW = 5
"""The window of depthwise layers."""


@dataclass(frozen=True)
class TrunkOutput:
    """An output of the kernels, which the rest of the net takes."""

    name: str
    """The name of the value in the model."""
    channels: int
    layers: tuple[HeadLayer, ...]
    """The layers behind the trunk; none: the output is the trunk itself."""
    chosen: NDArray[np.int64] | None = None
    """Places of the flattened planes that are wanted, if not all."""
    dense: tuple[HeadLayer, ...] = ()
    """Layers that take the flattened planes."""


class TrunkReader:
    """Finds layers in a model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        graph = model.graph
        self.constants = {c.name: numpy_helper.to_array(c) for c in graph.initializer}
        self.by_weight = {node.input[1]: node for node in graph.node if node.op_type == "Conv"}
        self.readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self._names = {node.name for node in graph.node}

    @property
    def known(self) -> bool:
        """Whether the net is made of layers and activations that our kernels have."""
        kinds = {node.op_type for node in self.model.graph.node}
        return not kinds & {"Gelu", "Mish"} and "stem.0.weight" in self.constants

    @property
    def board(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.model.graph.input[0].type.tensor_type.shape.dim[2:]
        return height.dim_value, width.dim_value

    def stem(self) -> tuple[Floats, Floats, bool] | None:
        """Weight with the input's scale in it, bias, ReLU; int8 weights count as float32 ones."""
        name, constants = "stem.0", self.constants
        weight, bias = constants[f"{name}.weight"], constants[f"{name}.bias"]
        if weight.dtype == np.int8:
            node = self.by_weight[f"{name}.weight/dequantized"]
            result = self.result(node)
            weight = weight * constants[f"{name}.weight.scale"][:, None, None, None]
            bias = bias * constants[f"{name}.bias.scale"]
            if f"{result}/scales" in constants:
                return None
            relu = result != node.output[0]
        else:
            node = self.by_weight[f"{name}.weight"]
            relu = self.reader(node.output[0]).op_type == "Relu"
        for first in self.readers[INPUT_PLANES]:
            if first.op_type == "Mul" and first.input[0] == INPUT_PLANES:
                weight = weight * constants[first.input[1]].reshape(1, -1, 1, 1)
        return floats(weight), floats(bias), relu

    def blocks(self) -> list[str]:
        """The names of the blocks, `blocks.0` and so on."""
        names: list[str] = []
        while any(f"blocks.{len(names)}.{layer}.weight" in self.constants for layer in _FIRST):
            names.append(f"blocks.{len(names)}")
        return names

    def is_mobile(self, block: str) -> bool:
        """Whether a block has a depthwise layer between two 1x1 ones."""
        return f"{block}.expand.weight" in self.constants

    def excitation(self, block: str) -> Excitation | None:
        """Squeeze-and-excitation `[hidden, C]`, `[hidden]`, `[2 C, hidden]`, `[2 C]`, if any."""
        name, constants = f"{block}.excitation", self.constants
        if f"{name}.squeeze.weight" not in constants:
            return None
        squeeze = constants[f"{name}.squeeze.weight"]
        parts = ("scale", "shift")
        excite = np.concatenate([constants[f"{name}.excite.{part}.weight"] for part in parts])
        bias = np.concatenate([constants[f"{name}.excite.{part}.bias"] for part in parts])
        return (
            floats(squeeze.reshape(len(squeeze), -1)),
            floats(constants[f"{name}.squeeze.bias"]),
            floats(excite.reshape(len(excite), -1)),
            floats(bias),
        )

    def norm(self, block: str) -> tuple[Floats, Floats] | None:
        """Factor and summand per channel of a batch norm at the end of a block, if any."""
        if f"{block}.norm.scale" not in self.constants:
            return None
        scale, shift = (self.constants[f"{block}.norm.{part}"] for part in ("scale", "shift"))
        return floats(scale.reshape(-1)), floats(shift.reshape(-1))

    def count_relus(self, block: str) -> int:
        """ReLUs of a block, those of its squeeze-and-excitation left out."""
        return sum(name.startswith(f"{block}/Relu") for name in self._names)

    def outputs(self, channels: int) -> list[TrunkOutput]:
        """The outputs at which the kernels end; `channels` is the trunk's."""
        trunk = [n.output[0] for n in self.model.graph.node if n.name.startswith("blocks.")][-1]
        found = []
        for node in self.readers[trunk]:
            chain = self._chain(node)
            if chain is not None:
                found.append(chain)
        if len(found) < len(self.readers[trunk]):
            found.append(TrunkOutput(trunk, channels, ()))
        return found

    def heads(self, outputs: list[TrunkOutput]) -> onnx.ModelProto:
        """The rest of the net; its inputs are `outputs`, and the planes if it needs them."""
        planes = self.model.graph.input[0]
        ours = {output.name: output for output in outputs}
        makers = {name: node for node in self.model.graph.node for name in node.output}
        results = [value for value in self.model.graph.output if value.name not in ours]
        wanted = [value.name for value in results]
        needed: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name in needed:
                continue
            needed.add(name)
            if name not in ours and name in makers:
                wanted.extend(makers[name].input)
        inputs = [
            helper.make_tensor_value_info(
                output.name,
                TensorProto.FLOAT,
                ["batch", len(output.dense[-1][1])]
                if output.dense
                else ["batch", output.channels, *self.board],
            )
            for output in outputs
            if output.name in needed
        ]
        if INPUT_PLANES in needed:
            inputs.append(planes)
        heads = onnx.ModelProto()
        heads.CopyFrom(self.model)
        for part in ("node", "initializer", "input", "output"):
            heads.graph.ClearField(part)
        heads.graph.input.extend(inputs)
        heads.graph.output.extend(results)
        heads.graph.node.extend(
            node
            for node in self.model.graph.node
            if any(name in needed and name not in ours for name in node.output)
        )
        heads.graph.initializer.extend(c for c in self.model.graph.initializer if c.name in needed)
        return heads

    def reader(self, name: str) -> onnx.NodeProto:
        """The last node that reads a value."""
        return self.readers[name][-1]

    def result(self, node: onnx.NodeProto) -> str:
        """The name of an int8 layer's output behind its rounding."""
        return str(self.reader(node.output[0]).output[0]).removesuffix("/quantized")

    def _chain(self, node: onnx.NodeProto) -> TrunkOutput | None:
        """The convolutions in a row that begin with a node."""
        layers: list[HeadLayer] = []
        value = ""
        while True:
            layer = self._head_layer(node)
            if layer is not None:
                layers.append(layer)
            elif node.op_type == "Relu" and layers:
                layers[-1] = (*layers[-1][:2], True)
            else:
                break
            value = node.output[0]
            following = self.readers.get(value, [])
            if len(following) != 1:
                break
            node = following[0]
        if not layers:
            return None
        channels = len(layers[-1][1])
        actions = self._choice(value, channels * self.board[0] * self.board[1])
        if actions is not None:
            return TrunkOutput(actions[0], channels, tuple(layers), actions[1])
        value, dense = self._dense(value)
        return TrunkOutput(value, channels, tuple(layers), dense=dense)

    def _choice(self, value: str, size: int) -> tuple[str, NDArray[np.int64]] | None:
        """The value that is gathered from flattened planes and nowhere else, and its name."""
        nodes: list[onnx.NodeProto] = []
        for kind in ("Flatten", "Gather"):
            following = self.readers.get(value, [])
            if [node.op_type for node in following] != [kind]:
                return None
            nodes += following
            value = nodes[-1].output[0]
        index = self.constants.get(nodes[-1].input[1])
        return None if index is None or index.max() >= size else (value, index)

    def _dense(self, planes: str) -> tuple[str, tuple[HeadLayer, ...]]:
        """The dense layers in a row behind planes, and what the last one's result is called."""
        value, layers = planes, list[HeadLayer]()
        flattened = planes
        following = self.readers.get(planes, [])
        if [node.op_type for node in following] == ["Flatten"]:
            flattened = following[0].output[0]
        while len(following := self.readers.get(flattened, [])) == 1:
            node = following[0]
            if node.op_type == "Relu" and layers and not layers[-1][2]:
                layers[-1] = (*layers[-1][:2], True)
            elif (layer := self._dense_layer(node)) is not None:
                layers.append(layer)
            else:
                break
            value = flattened = node.output[0]
        return value, tuple(layers)

    def _dense_layer(self, node: onnx.NodeProto) -> HeadLayer | None:
        if node.op_type != "Gemm" or len(node.input) != 3:
            return None
        weight, bias = (self.constants.get(name) for name in node.input[1:])
        if weight is None or bias is None or weight.dtype != np.float32:
            return None
        if not helper.get_node_attr_value(node, "transB") or weight.size > LARGEST_DENSE:
            return None
        return floats(weight), floats(bias), False

    def _head_layer(self, node: onnx.NodeProto) -> HeadLayer | None:
        if node.op_type != "Conv" or node.input[1] not in self.constants:
            return None
        weight, bias = (self.constants[name] for name in node.input[1:3])
        whole = helper.get_node_attr_value(node, "group") == 1
        if not whole or weight.shape[2] not in (1, 3) or weight.dtype != np.float32:
            return None
        return floats(weight), floats(bias), False


def whole_window(weight: NDArray[Number]) -> NDArray[Number]:
    """Depthwise weights `[C, 1, n, n]` in a 5x5 window, `[C, 25]`."""
    rim = (WINDOW - weight.shape[2]) // 2
    padded = np.pad(weight[:, 0], ((0, 0), (rim, rim), (rim, rim)))
    return padded.reshape(len(weight), -1)


def floats(array: NDArray[np.generic]) -> Floats:
    """Contiguous float32."""
    return np.ascontiguousarray(array, np.float32)


_FIRST = ("conv1", "expand")
