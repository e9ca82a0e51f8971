"""What our int8 kernels compute of an int8 ONNX file, told in the file's metadata.

The plan names constants and tensors of the file, so the file holds every weight once, and any
onnxruntime runs it without the plan.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from zerogames.export.onnx_graph import OnnxWriter
from zerogames.export.trunk_plan import PlannedOutput, plan_trunk
from zerogames.nets.program import Program, Weighted

if TYPE_CHECKING:
    from zerogames.export.qdq import Layer

PLAN_KEY = "zerogames_int8_plan"


class PlannedLayer(TypedDict):
    """An int8 layer; constants begin with its name."""

    name: str
    source: str
    """The rounded tensor it reads."""
    result: str
    """Its output behind the ReLU."""


class Int8Block(TypedDict):
    """A block of the trunk."""

    layers: list[PlannedLayer]
    """Two convolutions, or a depthwise one between them."""
    excitation: str
    """The name of the squeeze-and-excitation; empty for none."""
    relu: bool
    norm: str
    """The name of the batch norm at the end; empty for none."""


class Int8Output(TypedDict):
    """An output of the kernels: layers in float32, by name, and whether a ReLU follows."""

    name: str
    shape: list[int]
    layers: list[tuple[str, bool]]
    chosen: list[int] | None
    dense: list[tuple[str, bool]]


class Int8Plan(TypedDict):
    """A whole plan."""

    board: tuple[int, int]
    stem: str
    stem_relu: bool
    scaled: bool
    """Whether the planes have factors."""
    blocks: list[Int8Block]
    outputs: list[Int8Output]


def plan_int8(program: Program, layers: "Sequence[Layer]") -> Int8Plan | None:
    """Plan a net of which `layers` are int8; None if our kernels do not have its layers."""
    plan = plan_trunk(program)
    known = {id(layer.layer): layer for layer in layers}
    if plan is None or not plan.blocks or plan.tip or any(b.before for b in plan.blocks):
        return None

    def planned(layer: Weighted) -> PlannedLayer:
        found = known[id(layer)]
        return {"name": found.name, "source": found.source, "result": found.result}

    blocks: list[Int8Block] = []
    for block in plan.blocks:
        parts = [part for part in (block.first, block.depthwise, block.last) if part is not None]
        if any(id(part) not in known for part in parts):
            return None
        blocks.append(
            {
                "layers": [planned(part) for part in parts],
                "excitation": "" if block.excitation is None else block.excitation.name,
                "relu": block.relu,
                "norm": "" if block.norm is None else block.norm.name,
            }
        )
    writer = OnnxWriter(program)

    def output(one: PlannedOutput) -> Int8Output:
        return {
            "name": writer.name(one.value),
            "shape": list(one.value.shape),
            "layers": [(layer.name, relu) for layer, relu in one.layers],
            "chosen": None if one.chosen is None else one.chosen.tolist(),
            "dense": [(layer.name, relu) for layer, relu in one.dense],
        }

    return {
        "board": program.board,
        "stem": plan.stem.name,
        "stem_relu": plan.stem_relu,
        "scaled": plan.scale is not None,
        "blocks": blocks,
        "outputs": [output(one) for one in plan.outputs(lambda layer: id(layer) not in known)],
    }
