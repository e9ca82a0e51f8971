"""Evaluating int8 nets: the trunk natively where the CPU is good at it, else all in onnxruntime.

onnxruntime computes a board-shaped depthwise layer as 25 taps, and writes every layer's output to
memory. The native trunk computes the live taps only and keeps a position in the cache; what a block
adds to the trunk it never rounds, so it is nearer to float32 too. The heads stay in onnxruntime.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from zerogames_kernels import _int8

from zerogames.evaluate.evaluator import Capabilities, Evaluation, Evaluator
from zerogames.evaluate.onnx_ import OnnxEvaluator, open_session, output_names
from zerogames.export.names import INPUT_PLANES

Floats = NDArray[np.float32]
Layer = tuple[NDArray[np.int8], Floats, Floats]
_WINDOW = 5


def open_int8(
    path: Path, *, version: str, encoding: str, threads: int = 1, native: bool | None = None
) -> Evaluator:
    """Open an int8 file.

    Args:
        path: As `zerogames.export.int8` writes it.
        version: Of the answers.
        encoding: Of the input planes.
        threads: CPU threads per call.
        native: Whether the trunk runs natively; by default where the CPU has the instructions and
            the net's blocks are of a known kind.
    """
    if native is None:
        native = _int8.has_vnni()
    parts = split_trunk(onnx.load(path)) if native else None
    if parts is None:
        return OnnxEvaluator(
            path, version=version, encoding=encoding, threads=threads, precision="int8"
        )
    # The two ways differ in the last digits.
    return Int8Evaluator(*parts, version=f"{version}n", encoding=encoding, threads=threads)


class Int8Evaluator:
    """Runs the trunk natively and the heads in onnxruntime."""

    def __init__(
        self,
        trunk: _int8.Trunk,
        heads: onnx.ModelProto,
        *,
        version: str,
        encoding: str,
        threads: int = 1,
    ) -> None:
        self.version = version
        self.encoding = encoding
        self.capabilities = Capabilities(batch_size=64, threads=threads, precision="int8")
        self._trunk = trunk
        self._session = open_session(heads.SerializeToString(), threads)
        self._outputs = output_names(self._session)
        self._inputs = [value.name for value in heads.graph.input]

    def evaluate(self, planes: Floats) -> Evaluation:
        """Judge planes `[B, P, H, W]`."""
        batch, _, height, width = planes.shape
        trunk = np.empty((batch, self._trunk.channels, height, width), np.float32)
        self._trunk.run(planes, trunk, threads=self.capabilities.threads)
        feeds = dict(zip(self._inputs, (trunk, planes), strict=False))
        policy, wdl, *rest = self._session.run(self._outputs, feeds)
        return Evaluation(policy, wdl, rest[0] if rest else None)


def split_trunk(model: onnx.ModelProto) -> tuple[_int8.Trunk, onnx.ModelProto] | None:
    """The native trunk of an int8 model and the rest as a model; None for other kinds of blocks."""
    nodes = list(model.graph.node)
    if any(node.op_type in ("Gelu", "Mish") for node in nodes):
        return None
    last = [node.output[0] for node in nodes if node.name.startswith("blocks.")]
    reader = _Reader(model)
    trunk = reader.stem()
    if not last or trunk is None:
        return None
    block = 0
    while reader.has_block(block):
        if not reader.add_block(trunk, block):
            return None
        block += 1
    return trunk, _heads(model, last[-1], trunk.channels)


def _heads(model: onnx.ModelProto, trunk: str, channels: int) -> onnx.ModelProto:
    """The part of a model behind the trunk, whose first input is the trunk."""
    planes = model.graph.input[0]
    height, width = (size.dim_value for size in planes.type.tensor_type.shape.dim[2:])
    makers = {name: node for node in model.graph.node for name in node.output}
    wanted = [output.name for output in model.graph.output]
    needed: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in needed:
            continue
        needed.add(name)
        if name != trunk and name in makers:
            wanted.extend(makers[name].input)
    inputs = [
        helper.make_tensor_value_info(trunk, TensorProto.FLOAT, ["batch", channels, height, width])
    ]
    if INPUT_PLANES in needed:
        inputs.append(planes)
    heads = onnx.ModelProto()
    heads.CopyFrom(model)
    del heads.graph.node[:], heads.graph.initializer[:], heads.graph.input[:]
    heads.graph.input.extend(inputs)
    heads.graph.node.extend(
        node
        for node in model.graph.node
        if any(name in needed and name != trunk for name in node.output)
    )
    heads.graph.initializer.extend(c for c in model.graph.initializer if c.name in needed)
    return heads


@dataclass
class _Reader:
    """Finds layers in an int8 model by the names that `zerogames.export.qdq` gives."""

    model: onnx.ModelProto

    def __post_init__(self) -> None:
        graph = self.model.graph
        self._constants = {c.name: numpy_helper.to_array(c) for c in graph.initializer}
        self._by_weight = {node.input[1]: node for node in graph.node if node.op_type == "Conv"}
        self._readers = {name: node for node in graph.node for name in node.input}
        self._names = {node.name for node in graph.node}

    def stem(self) -> _int8.Trunk | None:
        """A trunk that has a stem and no blocks yet; int8 weights count as float32 ones."""
        name, constants = "stem.0", self._constants
        weight = constants.get(f"{name}.weight")
        if weight is None:
            return None
        bias = constants[f"{name}.bias"]
        if weight.dtype == np.int8:
            node = self._by_weight[f"{name}.weight/dequantized"]
            result = self._result(node)
            weight = weight * constants[f"{name}.weight.scale"][:, None, None, None]
            bias = bias * constants[f"{name}.bias.scale"]
            if f"{result}/scales" in constants:
                return None
            relu = result != node.output[0]
        else:
            node = self._by_weight[f"{name}.weight"]
            relu = self._readers[node.output[0]].op_type == "Relu"
        first = self._readers[INPUT_PLANES]
        for candidate in self.model.graph.node:
            if candidate.op_type == "Mul" and candidate.input[0] == INPUT_PLANES:
                first = candidate
                break
        if first.op_type == "Mul":
            weight = weight * constants[first.input[1]].reshape(1, -1, 1, 1)
        height, width = (
            size.dim_value for size in self.model.graph.input[0].type.tensor_type.shape.dim[2:]
        )
        return _int8.Trunk(height, width, _floats(weight), _floats(bias), relu)

    def has_block(self, block: int) -> bool:
        """Whether the net has so many blocks."""
        return any(
            f"blocks.{block}.{layer}.weight" in self._constants for layer in ("conv1", "expand")
        )

    def add_block(self, trunk: _int8.Trunk, block: int) -> bool:
        """Add a block to the trunk; False if it is of another kind."""
        name, constants = f"blocks.{block}", self._constants
        mobile = f"{name}.expand.weight" in constants
        inner, outer = ("expand", "project") if mobile else ("conv1", "conv2")
        first = self._layer(f"{name}.{inner}", rounded=True)
        last = self._layer(f"{name}.{outer}", rounded=False)
        depthwise = self._layer(f"{name}.depthwise", rounded=True) if mobile else None
        if first is None or last is None or (mobile and depthwise is None):
            return False
        if depthwise is not None:
            depthwise = (_whole_window(depthwise[0]), *depthwise[1:])
        source = self._source(self._by_weight[f"{name}.{inner}.weight/dequantized"])
        norm = None
        if f"{name}.norm.scale" in constants:
            norm = (
                _floats(constants[f"{name}.norm.scale"].reshape(-1)),
                _floats(constants[f"{name}.norm.shift"].reshape(-1)),
            )
        trunk.add_block(
            inverse_scale=1 / float(constants[f"{source}/scale"]),
            zero=int(constants[f"{source}/zero"]),
            first=first,
            depthwise=depthwise,
            last=last,
            excitation=self._excitation(f"{name}.excitation"),
            # The ReLUs between int8 layers are gone; one that is left stands behind the sum.
            relu=any(node.startswith(f"{name}/Relu") for node in self._names),
            norm=norm,
        )
        return True

    def _source(self, node: onnx.NodeProto) -> str:
        return str(node.input[0]).removesuffix("/dequantized")

    def _result(self, node: onnx.NodeProto) -> str:
        return str(self._readers[node.output[0]].output[0]).removesuffix("/quantized")

    def _layer(self, name: str, *, rounded: bool) -> Layer | None:
        """Weight, scale and bias; `rounded`: to the steps of the output, which begin at 0."""
        constants = self._constants
        node = self._by_weight.get(f"{name}.weight/dequantized")
        if node is None:
            return None
        weight, scale = constants[f"{name}.weight"], constants[f"{name}.bias.scale"]
        result, zero = self._result(node), int(constants[f"{self._source(node)}/zero"])
        if rounded:
            if result == node.output[0] or constants[f"{result}/zero"] != 0:
                return None
            scale = scale / constants[f"{result}/scale"]
        elif f"{result}/scales" in constants:
            scale = scale * constants[f"{result}/scales"].reshape(-1)
        sums = weight.reshape(len(weight), -1).sum(axis=1, dtype=np.int64)
        bias = (constants[f"{name}.bias"].astype(np.int64) - zero * sums) * scale
        return weight, _floats(scale), _floats(bias)

    def _excitation(self, name: str) -> tuple[Floats, Floats, Floats, Floats] | None:
        constants = self._constants
        if f"{name}.squeeze.weight" not in constants:
            return None
        squeeze = constants[f"{name}.squeeze.weight"]
        parts = ("scale", "shift")
        excite = np.concatenate([constants[f"{name}.excite.{part}.weight"] for part in parts])
        bias = np.concatenate([constants[f"{name}.excite.{part}.bias"] for part in parts])
        return (
            _floats(squeeze.reshape(len(squeeze), -1)),
            _floats(constants[f"{name}.squeeze.bias"]),
            _floats(excite.reshape(len(excite), -1)),
            _floats(bias),
        )


def _whole_window(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    """Depthwise weights `[C, 1, n, n]` in a 5x5 window, `[C, 25]`."""
    rim = (_WINDOW - weight.shape[2]) // 2
    padded = np.pad(weight[:, 0], ((0, 0), (rim, rim), (rim, rim)))
    return padded.reshape(len(weight), -1)


def _floats(array: NDArray[np.generic]) -> Floats:
    return np.ascontiguousarray(array, np.float32)
