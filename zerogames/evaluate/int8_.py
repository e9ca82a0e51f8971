"""Evaluators of int8 nets: the trunk native if the CPU has VNNI, else all in onnxruntime.

onnxruntime computes a board-shaped depthwise layer as 25 taps, and writes every layer's output to
memory. The native trunk computes the live taps only and keeps a position in the cache; what a block
adds to the trunk it never rounds, so it is nearer to float32 too. Heads stay in onnxruntime, but
for their first layers where those are float32.
"""

import json
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from zerogames_kernels.trunks import int8

from zerogames.evaluate.evaluator import Evaluator
from zerogames.evaluate.native_ import Excitation, NativeEvaluator, SplitNet
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.int8_plan import PLAN_KEY, Int8Block, Int8Plan, PlannedLayer
from zerogames.export.onnx_session import refuse_damage
from zerogames.export.trunk_plan import rest_of_net
from zerogames.nets.program import WINDOW

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
    """Split an int8 model as its plan says; None for one without a plan."""
    text = next((entry.value for entry in model.metadata_props if entry.key == PLAN_KEY), None)
    if text is None:
        return None
    plan: Int8Plan = json.loads(text)
    constants = _Constants(model)
    height, width = plan["board"]
    trunk = int8.Trunk(height, width, *constants.stem(plan), plan["stem_relu"])
    for block in plan["blocks"]:
        constants.add_block(trunk, block)
    for output in plan["outputs"]:
        trunk.add_output(
            [(*constants.floats(name), relu) for name, relu in output["layers"]],
            None if output["chosen"] is None else np.array(output["chosen"], np.int64),
            [(*constants.floats(name), relu) for name, relu in output["dense"]],
        )
    shapes = {output["name"]: tuple(output["shape"]) for output in plan["outputs"]}
    return SplitNet(trunk, list(shapes), rest_of_net(model, shapes).SerializeToString())


class _Constants:
    """The weights of a model by name."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._arrays = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}

    def floats(self, name: str) -> tuple[Floats, Floats]:
        """Weight and bias of a float32 layer."""
        return self._float(f"{name}.weight"), self._float(f"{name}.bias")

    def stem(self, plan: Int8Plan) -> tuple[Floats, Floats]:
        """Weight with the input's scale in it, and bias; int8 weights count as float32 ones."""
        name, arrays = plan["stem"], self._arrays
        weight, bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]
        if weight.dtype == np.int8:
            weight = weight * arrays[f"{name}.weight.scale"][:, None, None, None]
            bias = bias * arrays[f"{name}.bias.scale"]
        if plan["scaled"]:
            weight = weight * arrays["input/scale"].reshape(1, -1, 1, 1)
        return _contiguous(weight), _contiguous(bias)

    def add_block(self, trunk: int8.Trunk, block: Int8Block) -> None:
        """Add a block to the trunk."""
        first, *depthwise, last = block["layers"]
        middle = self._layer(depthwise[0], rounded=True) if depthwise else None
        source, norm = first["source"], block["norm"]
        trunk.add_block(
            input=(1 / self._number(f"{source}/scale"), int(self._number(f"{source}/zero"))),
            layers=(
                self._layer(first, rounded=True),
                None if middle is None else (_whole_window(middle[0]), *middle[1:]),
                self._layer(last, rounded=False),
            ),
            excitation=self._excitation(block["excitation"]) if block["excitation"] else None,
            relu=block["relu"],
            norm=(
                self._float(f"{norm}.scale").reshape(-1),
                self._float(f"{norm}.shift").reshape(-1),
            )
            if norm
            else None,
        )

    def _float(self, name: str) -> Floats:
        return _contiguous(self._arrays[name])

    def _number(self, name: str) -> float:
        return float(self._arrays[name])

    def _excitation(self, name: str) -> Excitation:
        """Squeeze `[hidden, C]`, `[hidden]`, and excite `[2 C, hidden]`, `[2 C]`."""
        weight, bias = self.floats(f"{name}.squeeze")
        parts = [self.floats(f"{name}.excite.{part}") for part in ("scale", "shift")]
        excite = np.concatenate([part[0] for part in parts])
        shift = np.concatenate([part[1] for part in parts])
        return weight.reshape(len(weight), -1), bias, excite.reshape(len(excite), -1), shift

    def _layer(self, layer: PlannedLayer, *, rounded: bool) -> Layer:
        """Weight, scale and bias; `rounded`: to the steps of the output, which begin at 0."""
        arrays, name, result = self._arrays, layer["name"], layer["result"]
        weight, scale = arrays[f"{name}.weight"], arrays[f"{name}.bias.scale"]
        if rounded:
            scale = scale / arrays[f"{result}/scale"]
        elif f"{result}/scales" in arrays:
            scale = scale * arrays[f"{result}/scales"].reshape(-1)
        sums = weight.reshape(len(weight), -1).sum(axis=1, dtype=np.int64)
        zero = int(self._number(f"{layer['source']}/zero"))
        bias = (arrays[f"{name}.bias"].astype(np.int64) - zero * sums) * scale
        return weight, _contiguous(scale), _contiguous(bias)


def _whole_window(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    """Depthwise weights `[C, 1, n, n]` in a 5x5 window, `[C, 25]`."""
    rim = (WINDOW - weight.shape[2]) // 2
    return np.pad(weight[:, 0], ((0, 0), (rim, rim), (rim, rim))).reshape(len(weight), -1)


def _contiguous(array: NDArray[np.generic]) -> Floats:
    return np.ascontiguousarray(array, np.float32)
