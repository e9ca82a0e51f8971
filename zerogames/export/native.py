"""Making the file of our float32 kernels from the ONNX form of a net."""

import numpy as np
import onnx
from numpy.typing import NDArray

from zerogames.export.native_file import NativeHeader, format_native
from zerogames.export.trunk_reader import TrunkReader

WINDOW = 3
NOT_NATIVE = "the net has layers that no native kernel computes"


def make_native(model: onnx.ModelProto) -> bytes:
    """Return the file's content; raise `ValueError` for nets with other layers."""
    reader = TrunkReader(model)
    stem = reader.stem() if reader.known else None
    if stem is None or any(reader.is_mobile(name) for name in reader.blocks()):
        raise ValueError(NOT_NATIVE)
    tensors: dict[str, NDArray[np.generic]] = {"stem.weight": stem[0], "stem.bias": stem[1]}
    for name in reader.blocks():
        for ours, theirs in (("first", "conv1"), ("last", "conv2")):
            weight = reader.constants[f"{name}.{theirs}.weight"]
            if weight.shape[2] != WINDOW:
                raise ValueError(NOT_NATIVE)
            tensors[f"{name}.{ours}.weight"] = weight
            tensors[f"{name}.{ours}.bias"] = reader.constants[f"{name}.{theirs}.bias"]
        for part, arrays in (
            ("excitation", reader.excitation(name)),
            ("norm", reader.norm(name)),
        ):
            for index, array in enumerate(arrays or ()):
                tensors[f"{name}.{part}.{index}"] = array
    outputs = reader.outputs(len(stem[1]))
    for number, output in enumerate(outputs):
        for index, (weight, bias, _) in enumerate(output.layers):
            tensors[f"outputs.{number}.{index}.weight"] = weight
            tensors[f"outputs.{number}.{index}.bias"] = bias
        for index, (weight, bias, _) in enumerate(output.dense):
            tensors[f"outputs.{number}.dense.{index}.weight"] = weight
            tensors[f"outputs.{number}.dense.{index}.bias"] = bias
        if output.chosen is not None:
            tensors[f"outputs.{number}.chosen"] = output.chosen
    heads = reader.heads(outputs).SerializeToString()
    tensors["heads"] = np.frombuffer(heads, np.uint8)
    header: NativeHeader = {
        "board": reader.board,
        "stem_relu": stem[2],
        # The other ReLU, between the layers, is always there.
        "block_relus": [reader.count_relus(name) > 1 for name in reader.blocks()],
        "outputs": [output.name for output in outputs],
        "output_relus": [[relu for _, _, relu in output.layers] for output in outputs],
        "dense_relus": [[relu for _, _, relu in output.dense] for output in outputs],
    }
    return format_native(header, tensors)
