"""Nets as ONNX graphs, built layer by layer from the spec and the weights.

Batch norms are folded into the convolutions before them. `tests/test_export_onnx.py` compares every
kind of net with torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from zerogames_kernels import Pattern
from zerogames_kernels.pattern import RADIUS

from zerogames.errors import UserError
from zerogames.export.board_op import DOMAIN, KIND, VERSION, WINDOW, is_square, op_attributes
from zerogames.export.graph_builder import GraphBuilder
from zerogames.export.names import INPUT_PLANES, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_WDL
from zerogames.game import Game
from zerogames.nets.head_kinds import VALUE_KINDS, find_policy
from zerogames.nets.spec import NO_PASS_LOGIT, NORM_EPSILON, NetSpec

OPSET = 20

Array = NDArray[np.float32]


@dataclass
class NetGraph:
    """Translates one net; `tensors` are the net file's, by name."""

    spec: NetSpec
    game: Game
    tensors: Mapping[str, Array]
    patterns: Sequence[tuple[Pattern, ...]]
    half: bool = False
    """Whether the net computes in float16; planes and outputs stay float32."""
    board_op: bool = False
    """Whether masked depthwise layers become `zerogames.BoardDepthwise` instead of a 5x5
    convolution."""
    builder: GraphBuilder = field(default_factory=GraphBuilder)

    def build(self) -> onnx.ModelProto:
        """The whole model with a dynamic batch."""
        encoding = self.game.encodings[self.spec.encoding.partition(":")[0]]
        planes, height, width = encoding.shape
        x = INPUT_PLANES
        if self.spec.input_scale:
            scale = np.ones((planes, 1, 1), np.float32)
            for plane, factor in self.spec.input_scale:
                scale[plane] = factor
            with self.builder.within("input"):
                x = self.builder.op("Mul", x, self.builder.constant(scale, "input/scale"))
        if self.half:
            with self.builder.within("input"):
                x = self.builder.op("Cast", x, to=TensorProto.FLOAT16)
        with self.builder.within("stem"):
            trunk = self.stem(x)
        for block in range(self.spec.blocks):
            with self.builder.within(f"blocks.{block}"):
                trunk = self.block(f"blocks.{block}", block, trunk)
        with self.builder.within("policy"):
            outputs = [find_policy(self.spec, self.game).write_onnx(self, trunk)]
        with self.builder.within("value"):
            outputs.append(self.value(trunk))
        shapes: dict[str, list[int | str]] = {
            OUTPUT_POLICY: ["batch", self.game.spec.action_size],
            OUTPUT_WDL: ["batch", 3],
        }
        if self.spec.moves_left:
            with self.builder.within("moves_left"):
                outputs.append(self.moves_left(trunk))
            shapes[OUTPUT_MOVES_LEFT] = ["batch"]
        graph = helper.make_graph(
            self.builder.nodes,
            self.spec.name,
            [_value(INPUT_PLANES, ["batch", planes, height, width])],
            [_value(name, shapes[name]) for name in outputs],
            list(self.builder.constants.values()),
            value_info=self.board_values(height, width),
        )
        opsets = [helper.make_opsetid("", OPSET)]
        if graph.value_info:
            opsets.append(helper.make_opsetid(DOMAIN, VERSION))
        model = helper.make_model(graph, opset_imports=opsets, producer_name="zerogames")
        model.ir_version = 10  # onnxruntime lags behind the newest
        return model

    def stem(self, x: str) -> str:
        """Write the layers from the planes to the trunk."""
        if self.spec.convention == "lc0" and self.spec.block != "res":
            return self.conv(x, "stem.0")
        return self.activate(self.conv(x, "stem.0", norm="stem.1"))

    def block(self, name: str, index: int, x: str) -> str:
        """One block of the trunk."""
        kind = self.spec.block
        if kind == "res":
            inner = self.activate(
                self.conv(x, f"{name}.conv1", norm=f"{name}.norm1", layer=2 * index)
            )
            inner = self.conv(inner, f"{name}.conv2", norm=f"{name}.norm2", layer=2 * index + 1)
            return self.activate(self.add(x, self.excitation(f"{name}.excitation", inner)))
        if kind == "golois":
            inner = self.activate(self.conv(x, f"{name}.conv1", layer=2 * index))
            inner = self.conv(inner, f"{name}.conv2", layer=2 * index + 1)
            return self.norm(self.activate(self.add(x, inner)), f"{name}.norm")
        if kind == "mob":
            inner = self.activate(self.conv(x, f"{name}.expand", norm=f"{name}.norm1"))
            inner = self.depthwise(
                inner, f"{name}.depthwise", f"{name}.norm2", index, activated=True
            )
            inner = self.conv(inner, f"{name}.project", norm=f"{name}.norm3")
            out = self.add(x, self.excitation(f"{name}.excitation", inner))
            return out if self.spec.convention == "keras" else self.activate(out)
        inner = self.depthwise(x, f"{name}.depthwise", f"{name}.norm", index)
        inner = self.gelu(self.conv(inner, f"{name}.expand"))
        inner = self.conv(inner, f"{name}.project")
        return self.add(x, self.excitation(f"{name}.excitation", inner))

    def token_dense(self, x: str, name: str) -> str:
        """A dense layer over the last axis of `[B, n, C]`."""
        with self.builder.within(name):
            weight = self.weights(self.tensors[f"{name}.weight"].T, f"{name}.weight")
            y = self.builder.op("MatMul", x, weight)
            bias = self.tensors.get(f"{name}.bias")
            return y if bias is None else self.add(y, self.weights(bias, f"{name}.bias"))

    def gather_actions(self, logits: str, trunk: str, planes: str) -> str:
        """Gather the actions' logits from planes; see `zerogames.nets.heads.ActionGather`."""
        policy_map = self.game.heads.policy_maps[planes]
        index = np.asarray(policy_map.index)
        elsewhere = index < 0
        if "policy.gather.other.weight" in self.tensors:
            others = self.dense(self.pooled(trunk), "policy.gather.other")
            logits = self.builder.op("Concat", logits, others, axis=1)
        elif elsewhere.any():
            pads = self.builder.numbers(0, 0, 0, int(elsewhere.sum()))
            low = self.weights(np.array(NO_PASS_LOGIT, np.float32))
            logits = self.builder.op("Pad", logits, pads, low)
        _, height, width = self.game.spec.observation_shape
        last = policy_map.planes * height * width + np.cumsum(elsewhere) - 1
        chosen = self.builder.constant(np.where(elsewhere, last, index).astype(np.int64))
        return self.policy_output("Gather", logits, chosen, axis=1)

    def value(self, trunk: str) -> str:
        """Probabilities of win, draw, loss."""
        raw = self.float32(self.head("value", trunk))
        if self.spec.value == "wdl":
            return self.builder.op("Softmax", raw, axis=1, output=OUTPUT_WDL)
        if self.spec.first_player_plane is not None:
            raw = self.builder.op("Mul", raw, self.side_sign(self.spec.first_player_plane))
        if self.spec.value == "scalar":
            # (1 + tanh z) / 2 is sigmoid(2 z).
            raw = self.builder.op("Mul", raw, self.builder.constant(np.array(2, np.float32)))
        win = self.builder.op("Sigmoid", raw)
        one = self.builder.constant(np.array(1, np.float32))
        loss = self.builder.op("Sub", one, win)
        draw = self.builder.op("Sub", win, win)
        return self.builder.op("Concat", win, draw, loss, axis=1, output=OUTPUT_WDL)

    def side_sign(self, plane: int) -> str:
        """`[B, 1]`: -1 where the plane is one (the first player moves), else 1."""
        vector = self.builder.numbers
        cell = self.builder.op(
            "Slice", INPUT_PLANES, vector(plane, 0, 0), vector(plane + 1, 1, 1), vector(1, 2, 3)
        )
        flat = self.builder.op("Reshape", cell, vector(-1, 1))
        doubled = self.builder.op("Add", flat, flat)
        return self.builder.op("Sub", self.builder.constant(np.array(1, np.float32)), doubled)

    def moves_left(self, trunk: str) -> str:
        """Plies to the end of the game."""
        raw = self.head("moves_left", trunk)
        raw = self.builder.op("Relu", self.float32(raw))
        return self.builder.op("Squeeze", raw, self.builder.numbers(1), output=OUTPUT_MOVES_LEFT)

    def head(self, name: str, trunk: str) -> str:
        """A hidden and an output layer over the pooled trunk or a few planes."""
        if VALUE_KINDS[self.spec.value_head].channels == 0:
            flat = self.pooled(trunk)
        else:
            planes = self.conv(trunk, f"{name}.conv", norm=f"{name}.norm")
            flat = self.flatten(self.activate(planes))
        return self.dense(self.activate(self.dense(flat, f"{name}.hidden")), f"{name}.output")

    def conv(self, x: str, name: str, *, norm: str = "", layer: int = -1) -> str:
        """A convolution with its batch norm folded in; `layer` counts the patterned ones."""
        weight = self.tensors[f"{name}.weight"]
        if weight.ndim == 3:
            weight = spread(weight, self.patterns[layer])
        return self.folded_conv(x, name, weight, norm)

    def depthwise(
        self, x: str, name: str, norm: str, layer: int, *, activated: bool = False
    ) -> str:
        """A depthwise layer with the batch norm and, if wanted, the activation after it."""
        compact, patterns = self.tensors[f"{name}.weight"], self.patterns[layer]  # [C, K]
        if not self.board_op or is_square(patterns):
            weight = spread(compact[:, None], patterns)
            y = self.folded_conv(x, name, weight, norm, group=len(weight))
            return self.activate(y) if activated else y
        weight, bias = self.fold(name, compact, norm)
        with self.builder.within(name):
            return self.builder.op(
                KIND,
                x,
                self.weights(weight, f"{name}.weight"),
                self.weights(bias, f"{name}.bias"),
                **op_attributes(patterns, len(compact), relu=activated),
            )

    def board_values(self, height: int, width: int) -> list[onnx.ValueInfoProto]:
        """The shapes behind the board operators, which tools cannot know."""
        kind = TensorProto.FLOAT16 if self.half else TensorProto.FLOAT
        return [
            helper.make_tensor_value_info(
                node.output[0],
                kind,
                ["batch", helper.get_node_attr_value(node, "channels"), height, width],
            )
            for node in self.builder.nodes
            if node.domain == DOMAIN
        ]

    def folded_conv(self, x: str, name: str, weight: Array, norm: str, *, group: int = 1) -> str:
        """A convolution with these weights, the layer's bias and the norm."""
        weight, bias = self.fold(name, weight, norm)
        pad = weight.shape[2] // 2
        with self.builder.within(name):
            return self.builder.op(
                "Conv",
                x,
                self.weights(weight, f"{name}.weight"),
                self.weights(bias, f"{name}.bias"),
                pads=[pad] * 4,
                kernel_shape=list(weight.shape[2:]),
                group=group,
            )

    def fold(self, name: str, weight: Array, norm: str) -> tuple[Array, Array]:
        """Weights `[C, ...]` and biases `[C]` of a layer with the batch norm behind it."""
        bias = self.tensors.get(f"{name}.bias", np.zeros(len(weight), np.float32))
        if not norm:
            return weight, bias
        scale, shift = self.norm_affine(norm)
        return weight * scale.reshape(-1, *[1] * (weight.ndim - 1)), bias * scale + shift

    def norm_affine(self, name: str) -> tuple[Array, Array]:
        """A batch norm as factor and summand per channel."""
        mean, variance = self.tensors[f"{name}.running_mean"], self.tensors[f"{name}.running_var"]
        scale = 1 / np.sqrt(variance.astype(np.float64) + NORM_EPSILON[self.spec.convention])
        scale *= self.tensors.get(f"{name}.weight", np.ones(len(mean), np.float32))
        shift = self.tensors[f"{name}.bias"] - mean * scale
        return scale.astype(np.float32), shift.astype(np.float32)

    def norm(self, x: str, name: str) -> str:
        """A batch norm that no convolution precedes."""
        scale, shift = self.norm_affine(name)
        with self.builder.within(name):
            x = self.builder.op("Mul", x, self.weights(scale[:, None, None], f"{name}.scale"))
            return self.add(x, self.weights(shift[:, None, None], f"{name}.shift"))

    def excitation(self, name: str, x: str) -> str:
        """Squeeze-and-excitation, if the net has it."""
        if f"{name}.squeeze.weight" not in self.tensors:
            return x
        channels = self.spec.channels
        with self.builder.within(name):
            pooled = self.builder.op("GlobalAveragePool", x)  # [B, C, 1, 1]
            hidden = self.activate(self.pooled_dense(pooled, f"{name}.squeeze", "", slice(None)))
            scale = self.pooled_dense(hidden, f"{name}.excite", ".scale", slice(0, channels))
            shift = self.pooled_dense(hidden, f"{name}.excite", ".shift", slice(channels, None))
            return self.add(self.builder.op("Mul", x, self.builder.op("Sigmoid", scale)), shift)

    def pooled_dense(self, x: str, name: str, part: str, rows: slice) -> str:
        """Some outputs of a dense layer over `[B, C, 1, 1]` as a 1x1 convolution."""
        weight, bias = self.tensors[f"{name}.weight"][rows], self.tensors[f"{name}.bias"][rows]
        with self.builder.within(name + part):
            return self.builder.op(
                "Conv",
                x,
                self.weights(weight[:, :, None, None], f"{name}{part}.weight"),
                self.weights(bias, f"{name}{part}.bias"),
                kernel_shape=[1, 1],
            )

    def dense(self, x: str, name: str) -> str:
        """A dense layer over `[B, n]`."""
        with self.builder.within(name):
            return self.builder.op("Gemm", x, *self.dense_weights(name), transB=1)

    def dense_weights(self, name: str) -> tuple[str, str]:
        """Weight and bias of a dense layer."""
        weight = self.weights(self.tensors[f"{name}.weight"], f"{name}.weight")
        return weight, self.weights(self.tensors[f"{name}.bias"], f"{name}.bias")

    def weights(self, array: Array, name: str = "") -> str:
        """A constant of the type the net computes in."""
        if not self.half:
            return self.builder.constant(array, name)
        if array.size and np.abs(array).max() > np.finfo(np.float16).max:
            raise UserError(
                f"{name or self.builder.layer} of '{self.spec.name}' has a number too large for "
                "fp16; export it as fp32"
            )
        return self.builder.constant(array.astype(np.float16), name)

    def float32(self, x: str) -> str:
        """Convert from the type that the net computes in to float32."""
        return self.builder.op("Cast", x, to=TensorProto.FLOAT) if self.half else x

    def policy_output(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The node whose result leaves the net as the policy's logits, float32."""
        if not self.half:
            return self.builder.op(kind, *inputs, output=OUTPUT_POLICY, **attributes)
        inner = self.builder.op(kind, *inputs, **attributes)
        return self.builder.op("Cast", inner, to=TensorProto.FLOAT, output=OUTPUT_POLICY)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Any operator with one output."""
        return self.builder.op(kind, *inputs, **attributes)

    def numbers(self, *values: int) -> str:
        """A constant vector of integers."""
        return self.builder.numbers(*values)

    def pooled(self, x: str) -> str:
        """The board's average, `[B, C]`."""
        return self.flatten(self.builder.op("GlobalAveragePool", x))

    def activate(self, x: str) -> str:
        """ReLU, or what the net has instead."""
        return self.builder.op("Mish" if self.spec.activation == "mish" else "Relu", x)

    def gelu(self, x: str) -> str:
        """The exact one, as torch's default."""
        return self.builder.op("Gelu", x)

    def add(self, x: str, y: str) -> str:
        """The sum."""
        return self.builder.op("Add", x, y)

    def flatten(self, x: str) -> str:
        """`[B, ...]` to `[B, n]`."""
        return self.builder.op("Flatten", x)


def spread(weight: Array, patterns: Sequence[Pattern]) -> Array:
    """Compact taps `[out, in, K]` in their window, `[out, in, n, n]`, n the smallest odd size."""
    out_channels, in_channels, _ = weight.shape
    window = np.zeros((out_channels, in_channels, WINDOW, WINDOW), np.float32)
    small, larger = divmod(out_channels, len(patterns))
    first = 0
    for group, pattern in enumerate(patterns):
        last = first + small + (group < larger)
        for tap, (row, column) in enumerate(pattern.offsets):
            window[first:last, :, row + RADIUS, column + RADIUS] = weight[first:last, :, tap]
        first = last
    reach = max(max(abs(row), abs(column)) for p in patterns for row, column in p.offsets)
    inner = slice(RADIUS - reach, RADIUS + reach + 1)
    return window[:, :, inner, inner]


def _value(name: str, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
