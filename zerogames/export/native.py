"""Making the file of our float32 kernels from the program of a net."""

import numpy as np
from numpy.typing import NDArray

from zerogames.export.native_file import NativeHeader, format_native
from zerogames.export.onnx_graph import OnnxWriter
from zerogames.export.trunk_plan import PlannedBlock, TrunkPlan, plan_trunk, rest_of_net
from zerogames.nets.program import Array, Program, SqueezeExcitation

WINDOW = 3
LARGEST_STEM = 5
NOT_NATIVE = "the net has layers that no native kernel computes"


def plan_native(program: Program) -> TrunkPlan | None:
    """What our float32 kernels compute of a net; None if onnxruntime is as fast.

    3x3 layers are 1.4 to 2.8 times as fast. MobileNets are as fast in onnxruntime (0.96 to 1.05):
    their 1x1 layers leave nothing to save.
    """
    plan = plan_trunk(program)
    if plan is None or not plan.blocks:
        return None
    fast = plan.stem.size <= LARGEST_STEM and all(
        block.depthwise is None
        and block.first.size == block.last.size == WINDOW
        and (block.bias is None or block.bias.convolution.size == WINDOW)
        for block in plan.blocks
    )
    return plan if fast else None


def make_native(program: Program) -> bytes:
    """Return the file's content; raise `ValueError` for nets with other layers."""
    plan = plan_native(program)
    if plan is None:
        raise ValueError(NOT_NATIVE)
    weight, bias = plan.stem.window, plan.stem.folded[1]
    tensors: dict[str, NDArray[np.generic]] = {
        "stem.weight": plan.stem_weights(weight),
        "stem.bias": bias,
    }
    if plan.tip is not None:
        tensors |= {"tip.0": plan.tip.norm.affine[0], "tip.1": plan.tip.norm.affine[1]}
    for number, block in enumerate(plan.blocks):
        tensors[f"blocks.{number}.last.weight"] = block.last.window
        tensors[f"blocks.{number}.last.bias"] = block.last.folded[1]
        for name, array in first_arrays(block).items():
            tensors[f"blocks.{number}.{name}"] = array
        parts = {
            "excitation": excitation_arrays(block.excitation),
            "norm": () if block.norm is None else block.norm.norm.affine,
        }
        for name, arrays in parts.items():
            for index, array in enumerate(arrays):
                tensors[f"blocks.{number}.{name}.{index}"] = array
    outputs, writer = plan.outputs(), OnnxWriter(program)
    for number, output in enumerate(outputs):
        name = f"outputs.{number}"
        for index, (conv, _) in enumerate(output.layers):
            tensors[f"{name}.{index}.weight"] = conv.window
            tensors[f"{name}.{index}.bias"] = conv.folded[1]
        for index, (dense, _) in enumerate(output.dense):
            tensors[f"{name}.dense.{index}.weight"] = dense.folded[0]
            tensors[f"{name}.dense.{index}.bias"] = dense.folded[1]
        if output.chosen is not None:
            tensors[f"{name}.chosen"] = output.chosen
    model = writer.model()
    shapes = {writer.name(output.value): output.value.shape for output in outputs}
    heads = rest_of_net(model, shapes).SerializeToString()
    tensors["heads"] = np.frombuffer(heads, np.uint8)
    header: NativeHeader = {
        "board": program.board,
        "stem_relu": plan.stem_relu,
        "block_relus": [block.relu for block in plan.blocks],
        "outputs": list(shapes),
        "output_relus": [[relu for _, relu in output.layers] for output in outputs],
        "dense_relus": [[relu for _, relu in output.dense] for output in outputs],
    }
    return format_native(header, tensors)


def first_arrays(block: PlannedBlock) -> dict[str, NDArray[np.generic]]:
    """The first layer with what is in front of it, and its bias from the board."""
    weight, shift = block.first.window, block.first.folded[1]
    found: dict[str, NDArray[np.generic]] = {}
    if block.before is not None:
        found |= {f"before.{i}": array for i, array in enumerate(block.before.norm.affine)}
    if block.bias is not None:
        # The norm behind the sum goes into both summands; one layer computes the pooled channels
        # too.
        scale, summand = block.bias.norm.norm.affine
        pooled = block.bias.convolution
        weight = np.concatenate([weight * scale[:, None, None, None], pooled.window])
        shift = np.concatenate([shift * scale + summand, pooled.folded[1]])
        found["board.weight"] = block.bias.dense.weight * scale[:, None]
        found["board.factor"] = np.array(block.bias.pooling.factors[:1], np.float32)
    return found | {"first.weight": weight, "first.bias": shift}


def excitation_arrays(layer: SqueezeExcitation | None) -> tuple[Array, ...]:
    """Weights and biases of both dense layers, if there is squeeze-and-excitation."""
    return () if layer is None else (*layer.squeeze, *layer.excite)
