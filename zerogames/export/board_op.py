"""The board-shaped depthwise layer as the ONNX operator `zerogames.BoardDepthwise`.

    Y = BoardDepthwise(X [B, C, H, W], W [C, K], bias [C])
    attributes: offsets (rows and columns of the taps, [groups, K, 2]), groups, channels, relu

Channels are shared out among the groups as `zerogames_kernels.groups` does; the convolution has
stride 1 and keeps the size of the board. A file may hold what it means as a model-local function
(taps spread over a 5x5 window, grouped convolution): then any onnxruntime runs it, and folds it to
the plain convolution when it loads the file. Without the function the operator is for the plugin
`kernels/tensorrt`, which computes the live taps only.
"""

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import helper
from zerogames_kernels import Pattern, square_pattern
from zerogames_kernels.groups import flatten_offsets, group_offsets
from zerogames_kernels.pattern import RADIUS

DOMAIN = "zerogames"
KIND = "BoardDepthwise"
VERSION = 1
"""The version of the operator and of the plugin: TensorRT's parser looks for version 1 by
default."""
WINDOW = 2 * RADIUS + 1
ATTRIBUTES = ("offsets", "groups", "channels", "relu")


def is_square(patterns: Sequence[Pattern]) -> bool:
    """Whether a layer is an ordinary convolution: every runtime is good at those."""
    squares = {square_pattern(size).offsets for size in (1, 3, WINDOW)}
    return len(patterns) == 1 and patterns[0].offsets in squares


def op_attributes(patterns: Sequence[Pattern], channels: int, *, relu: bool) -> dict[str, Any]:
    """The attributes of a node of the operator."""
    return {
        "offsets": flatten_offsets(group_offsets(patterns)),
        "groups": len(patterns),
        "channels": channels,
        "relu": int(relu),
        "domain": DOMAIN,
    }


def op_function(opset: int, *, relu: bool) -> onnx.FunctionProto:
    """The operator as a function of standard operators; all layers of a file agree on `relu`."""

    def constant(name: str, *values: int) -> onnx.NodeProto:
        return helper.make_node("Constant", [], [name], value_ints=values)

    def attribute(name: str, kind: str) -> onnx.NodeProto:
        node = helper.make_node("Constant", [], [f"attribute_{name}"])
        node.attribute.append(_reference(kind, name, _KINDS[kind]))
        return node

    convolution = helper.make_node(
        "Conv",
        ["X", "kernel", "bias"],
        ["sums" if relu else "Y"],
        kernel_shape=[WINDOW, WINDOW],
        pads=[RADIUS] * 4,
    )
    convolution.attribute.append(_reference("group", "channels", onnx.AttributeProto.INT))
    nodes = [
        constant("one", 1),
        constant("radius", RADIUS),
        constant("row_and_column", WINDOW, 1),
        constant("two", 2),
        constant("squares", WINDOW * WINDOW),
        constant("rest_of_them", -1),
        constant("last_axis", -1),
        constant("kernel_size", 1, WINDOW, WINDOW),
        # The square of the window that each tap of each group has.
        attribute("offsets", "value_ints"),
        attribute("groups", "value_int"),
        helper.make_node("Reshape", ["attribute_groups", "one"], ["groups"]),
        helper.make_node("Concat", ["groups", "rest_of_them", "two"], ["taps_shape"], axis=0),
        helper.make_node("Reshape", ["attribute_offsets", "taps_shape"], ["taps"]),
        helper.make_node("Add", ["taps", "radius"], ["places"]),
        helper.make_node("Mul", ["places", "row_and_column"], ["parts"]),
        helper.make_node(
            "ReduceSum", ["parts", "last_axis"], ["group_squares"], keepdims=0
        ),  # [G, K]
        # The group of each channel: the first ones get the extra channels.
        helper.make_node("Shape", ["W"], ["channels"], end=1),
        helper.make_node("Div", ["channels", "groups"], ["size"]),
        helper.make_node("Mod", ["channels", "groups"], ["extra"]),
        helper.make_node("Add", ["size", "one"], ["larger"]),
        helper.make_node("Mul", ["larger", "extra"], ["in_larger"]),
        helper.make_node("Expand", ["one", "channels"], ["ones"]),
        helper.make_node("Constant", [], ["axis"], value_int=0),
        helper.make_node("CumSum", ["ones", "axis"], ["channel"], exclusive=1),
        helper.make_node("Less", ["channel", "in_larger"], ["is_first"]),
        helper.make_node("Div", ["channel", "larger"], ["first_group"]),
        helper.make_node("Sub", ["channel", "in_larger"], ["rest"]),
        helper.make_node("Div", ["rest", "size"], ["steps"]),
        helper.make_node("Add", ["steps", "extra"], ["last_group"]),
        helper.make_node("Where", ["is_first", "first_group", "last_group"], ["group"]),
        helper.make_node("Gather", ["group_squares", "group"], ["where"]),  # [C, K]
        # The taps in their window, zeros elsewhere.
        helper.make_node("Constant", [], ["number_zero"], value_float=0.0),
        helper.make_node("CastLike", ["number_zero", "W"], ["zero"]),
        helper.make_node("Concat", ["channels", "squares"], ["window_shape"], axis=0),
        helper.make_node("Expand", ["zero", "window_shape"], ["window"]),
        helper.make_node("ScatterElements", ["window", "where", "W"], ["flat"], axis=1),
        helper.make_node("Concat", ["channels", "kernel_size"], ["kernel_shape"], axis=0),
        helper.make_node("Reshape", ["flat", "kernel_shape"], ["kernel"]),  # [C, 1, 5, 5]
        convolution,
    ]
    if relu:
        nodes.append(helper.make_node("Relu", ["sums"], ["Y"]))
    return helper.make_function(
        DOMAIN,
        KIND,
        inputs=["X", "W", "bias"],
        outputs=["Y"],
        nodes=nodes,
        opset_imports=[helper.make_opsetid("", opset)],
        attributes=ATTRIBUTES,
        doc_string="Depthwise convolution with the live taps of a 5x5 window, by channel group.",
    )


_KINDS = {"value_int": onnx.AttributeProto.INT, "value_ints": onnx.AttributeProto.INTS}


def _reference(
    name: str, attribute: str, kind: onnx.AttributeProto.AttributeType
) -> onnx.AttributeProto:
    return onnx.AttributeProto(name=name, ref_attr_name=attribute, type=kind)


def board_nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """The nodes of the operator in a model."""
    return [node for node in model.graph.node if (node.domain, node.op_type) == (DOMAIN, KIND)]


def add_function(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a model that holds the operator's meaning, if it uses the operator."""
    portable = onnx.ModelProto()
    portable.CopyFrom(model)
    nodes = board_nodes(model)
    if nodes and not model.functions:
        [relu] = {helper.get_node_attr_value(node, "relu") for node in nodes}
        opset = next(entry.version for entry in model.opset_import if not entry.domain)
        portable.functions.append(op_function(opset, relu=bool(relu)))
    return portable
