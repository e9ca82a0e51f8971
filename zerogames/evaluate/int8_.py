"""Evaluators of int8 nets: the trunk native if the CPU has VNNI, else all in onnxruntime.

onnxruntime computes a board-shaped depthwise layer as 25 taps, and writes every layer's output to
memory. The native trunk computes the live taps only and keeps a position in the cache; what a block
adds to the trunk it never rounds, so it is nearer to float32 too. Heads stay in onnxruntime, but
for their first layers where those are float32.
"""

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from zerogames_kernels.trunks import int8

from zerogames.evaluate.evaluator import Evaluator
from zerogames.evaluate.native_ import NativeEvaluator, SplitNet
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.onnx_session import refuse_damage
from zerogames.export.trunk_reader import TrunkReader, floats, whole_window

Floats = NDArray[np.float32]
Layer = tuple[NDArray[np.int8], Floats, Floats]


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
        native = int8.has_vnni()
    with refuse_damage(path):
        # A file of ours holds all its weights; one that points to others is none.
        net = split_trunk(onnx.load(path, load_external_data=False)) if native else None
        if net is None:
            return OnnxEvaluator(
                path, version=version, encoding=encoding, threads=threads, precision="int8"
            )
        # The two ways differ in the last digits.
        return NativeEvaluator(
            net, version=f"{version}n", encoding=encoding, threads=threads, precision="int8"
        )


def split_trunk(model: onnx.ModelProto) -> SplitNet | None:
    """Split an int8 model; None for nets with other kinds of blocks."""
    reader = _Int8Reader(model)
    stem = reader.stem() if reader.known else None
    if stem is None:
        return None
    height, width = reader.board
    trunk = int8.Trunk(height, width, *stem)
    for name in reader.blocks():
        if not reader.add_block(trunk, name):
            return None
    outputs = reader.outputs(len(stem[1]))
    for output in outputs:
        trunk.add_output(list(output.layers), output.chosen, list(output.dense))
    names = [output.name for output in outputs]
    return SplitNet(trunk, names, reader.heads(outputs).SerializeToString())


class _Int8Reader(TrunkReader):
    def add_block(self, trunk: int8.Trunk, name: str) -> bool:
        """Add a block to the trunk; False if it is of another kind."""
        constants, mobile = self.constants, self.is_mobile(name)
        inner, outer = ("expand", "project") if mobile else ("conv1", "conv2")
        first = self._layer(f"{name}.{inner}", rounded=True)
        last = self._layer(f"{name}.{outer}", rounded=False)
        depthwise = self._layer(f"{name}.depthwise", rounded=True) if mobile else None
        if first is None or last is None or (mobile and depthwise is None):
            return False
        if depthwise is not None:
            depthwise = (whole_window(depthwise[0]), *depthwise[1:])
        source = self._source(self.by_weight[f"{name}.{inner}.weight/dequantized"])
        trunk.add_block(
            input=(1 / float(constants[f"{source}/scale"]), int(constants[f"{source}/zero"])),
            layers=(first, depthwise, last),
            excitation=self.excitation(name),
            # The ReLUs between int8 layers are gone; one that is left stands behind the sum.
            relu=self.count_relus(name) > 0,
            norm=self.norm(name),
        )
        return True

    def _source(self, node: onnx.NodeProto) -> str:
        return str(node.input[0]).removesuffix("/dequantized")

    def _layer(self, name: str, *, rounded: bool) -> Layer | None:
        """Weight, scale and bias; `rounded`: to the steps of the output, which begin at 0."""
        constants = self.constants
        node = self.by_weight.get(f"{name}.weight/dequantized")
        if node is None:
            return None
        weight, scale = constants[f"{name}.weight"], constants[f"{name}.bias.scale"]
        result, zero = self.result(node), int(constants[f"{self._source(node)}/zero"])
        if rounded:
            if result == node.output[0] or constants[f"{result}/zero"] != 0:
                return None
            scale = scale / constants[f"{result}/scale"]
        elif f"{result}/scales" in constants:
            scale = scale * constants[f"{result}/scales"].reshape(-1)
        sums = weight.reshape(len(weight), -1).sum(axis=1, dtype=np.int64)
        bias = (constants[f"{name}.bias"].astype(np.int64) - zero * sums) * scale
        return weight, floats(scale), floats(bias)
