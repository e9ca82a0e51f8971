"""Policy, value and moves-left heads over a trunk `[B, C, H, W]`.

A policy head holds its torch layers and writes the same layers as ONNX. The kinds by name are in
`zerogames.nets.head_kinds`.
"""

from math import prod
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets.blocks import make_norm
from zerogames.nets.head_kinds import VALUE_KINDS, find_policy
from zerogames.nets.layers import ACTIVATIONS, pointwise, spatial
from zerogames.nets.names import board
from zerogames.nets.spec import NO_PASS_LOGIT, NetSpec

POLICY_CHANNELS = 32
MOVES_LEFT_CHANNELS = 8
MOVES_LEFT_HIDDEN = 128
END_HIDDEN = 50


class GraphWriter(Protocol):
    """The graph to which heads write ONNX layers; values and layers have names."""

    @property
    def spec(self) -> NetSpec:
        """The net."""

    def conv(self, x: str, name: str, *, norm: str = "") -> str:
        """A convolution with the batch norm behind it."""

    def dense(self, x: str, name: str) -> str:
        """A dense layer over `[B, n]`."""

    def dense_weights(self, name: str) -> tuple[str, str]:
        """The weight and the bias of a dense layer."""

    def token_dense(self, x: str, name: str) -> str:
        """A dense layer over the last axis of `[B, n, C]`."""

    def activate(self, x: str) -> str:
        """The net's activation."""

    def flatten(self, x: str) -> str:
        """`[B, ...]` to `[B, n]`."""

    def add(self, x: str, y: str) -> str:
        """The sum."""

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Any operator with one output."""

    def numbers(self, *values: int) -> str:
        """A constant vector of integers."""

    def weights(self, array: NDArray[np.float32], name: str = "") -> str:
        """A constant of the type the net computes in."""

    def policy_output(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The operator that gives the logits `[B, A]`."""

    def gather_actions(self, logits: str, trunk: str, planes: str) -> str:
        """The logits `[B, A]` from flattened planes, as `ActionGather`."""


class PolicyHead(nn.Module):
    """A policy head: from a trunk `[B, C, H, W]` to logits `[B, A]`."""

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__()
        self.activate = ACTIVATIONS[spec.activation]
        self.cells = prod(board(spec, game))

    @staticmethod
    def write_onnx(graph: GraphWriter, trunk: str) -> str:
        """Write the layers under the names they have in the net, `policy....`."""
        raise NotImplementedError


class ActionGather(nn.Module):
    """Gathers logits `[B, A]` from a policy's planes `[B, planes, H, W]`.

    Actions without a place on the planes (a pass) get a logit from the pooled trunk, or a very low
    one. A map that only flattens, with such actions last, serves every board size.
    """

    index: Tensor

    def __init__(self, spec: NetSpec, game: Game, planes: str = "conv") -> None:
        super().__init__()
        policy_map = game.heads.policy_maps.get(planes)
        if policy_map is None:
            raise UserError(
                f"net '{spec.name}': {game.spec.name} has no planes for a '{spec.policy}' policy; "
                "take the dense one"
            )
        self.planes = policy_map.planes
        index = np.asarray(policy_map.index)
        placed = index >= 0
        self.num_other = int((~placed).sum())
        num_placed = len(index) - self.num_other
        num_planes = policy_map.planes * prod(board(spec, game))
        self.flatten_only = (
            num_placed == num_planes and np.array_equal(index[placed], np.arange(num_planes))
        ) and bool(placed[:num_placed].all())
        others = num_planes + np.cumsum(~placed) - 1
        full = torch.from_numpy(np.where(placed, index, others).astype(np.int64))
        self.register_buffer("index", full, persistent=False)
        self.other = (
            nn.Linear(spec.channels, self.num_other) if spec.pass_logit and self.num_other else None
        )

    def forward(self, planes: Tensor, trunk: Tensor) -> Tensor:
        """Logits of all actions."""
        logits = planes.flatten(1)
        if self.other is not None:
            logits = torch.cat([logits, self.other(trunk.mean((2, 3)))], dim=1)
        elif self.num_other:
            logits = F.pad(logits, (0, self.num_other), value=NO_PASS_LOGIT)
        return logits if self.flatten_only else logits.index_select(1, self.index)


class DensePolicy(PolicyHead):
    """1x1 to 32 channels, then one dense layer to all actions (Lc0's classical head)."""

    NORMED = (("conv", "norm"),)

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        self.conv = pointwise(spec.channels, POLICY_CHANNELS)
        self.norm = make_norm(spec, POLICY_CHANNELS)
        self.dense = nn.Linear(POLICY_CHANNELS * self.cells, game.spec.action_size)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        logits: Tensor = self.dense(self.activate(self.norm(self.conv(trunk))).flatten(1))
        return logits

    @staticmethod
    def write_onnx(graph: GraphWriter, trunk: str) -> str:
        """Write the layers."""
        planes = graph.activate(graph.conv(trunk, "policy.conv", norm="policy.norm"))
        flat = graph.flatten(planes)
        return graph.policy_output("Gemm", flat, *graph.dense_weights("policy.dense"), transB=1)


class ConvPolicy(PolicyHead):
    """Two 3x3 convolutions to the game's policy planes (Lc0's convolutional head)."""

    NORMED = (("conv1", "norm"),)

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        gather = ActionGather(spec, game)
        self.conv1 = spatial(spec.channels, spec.channels, 3)
        self.norm = make_norm(spec, spec.channels)
        self.conv2 = spatial(spec.channels, gather.planes, 3, bias=True)
        self.gather = gather

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        planes = self.conv2(self.activate(self.norm(self.conv1(trunk))))
        logits: Tensor = self.gather(planes, trunk)
        return logits

    @staticmethod
    def write_onnx(graph: GraphWriter, trunk: str) -> str:
        """Write the layers."""
        planes = graph.activate(graph.conv(trunk, "policy.conv1", norm="policy.norm"))
        logits = graph.flatten(graph.conv(planes, "policy.conv2"))
        return graph.gather_actions(logits, trunk, "conv")


class PointsPolicy(PolicyHead):
    """One 1x1 convolution without bias to the policy planes (the Go papers' `conv`)."""

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        gather = ActionGather(spec, game)
        self.conv = pointwise(spec.channels, gather.planes)
        self.gather = gather

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        logits: Tensor = self.gather(self.conv(trunk), trunk)
        return logits

    @staticmethod
    def write_onnx(graph: GraphWriter, trunk: str) -> str:
        """Write the layers."""
        logits = graph.flatten(graph.conv(trunk, "policy.conv"))
        return graph.gather_actions(logits, trunk, "conv")


class AlphaZeroPolicy(PolicyHead):
    """1x1 to two channels, then one dense layer to the board's points."""

    NORMED = (("conv", "norm"),)

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        gather = ActionGather(spec, game)
        self.conv = pointwise(spec.channels, 2, bias=True)
        self.norm = make_norm(spec, 2, last=True)
        self.dense = nn.Linear(2 * self.cells, gather.planes * self.cells)
        self.gather = gather

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        points = self.dense(self.activate(self.norm(self.conv(trunk))).flatten(1))
        logits: Tensor = self.gather(points, trunk)
        return logits

    @staticmethod
    def write_onnx(graph: GraphWriter, trunk: str) -> str:
        """Write the layers."""
        planes = graph.activate(graph.conv(trunk, "policy.conv", norm="policy.norm"))
        points = graph.dense(graph.flatten(planes), "policy.dense")
        return graph.gather_actions(points, trunk, "conv")


def make_policy(spec: NetSpec, game: Game) -> PolicyHead:
    """The spec's policy head."""
    return find_policy(spec, game)(spec, game)


class DenseHead(nn.Module):
    """1x1 convolution, a hidden dense layer, an output layer: value and moves left."""

    NORMED = (("conv", "norm"),)

    def __init__(
        self, spec: NetSpec, cells: int, outputs: int, *, channels: int, hidden: int
    ) -> None:
        super().__init__()
        self.activate = ACTIVATIONS[spec.activation]
        keras = spec.convention == "keras"
        self.conv = pointwise(spec.channels, channels, bias=keras)
        self.norm = make_norm(spec, channels)
        self.hidden = nn.Linear(channels * cells, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, trunk: Tensor) -> Tensor:
        """Raw numbers `[B, outputs]`."""
        planes = self.activate(self.norm(self.conv(trunk)))
        raw: Tensor = self.output(self.activate(self.hidden(planes.flatten(1))))
        return raw


class PooledHead(nn.Module):
    """The trunk averaged over the board, a hidden dense layer, an output layer."""

    def __init__(self, spec: NetSpec, outputs: int, *, hidden: int) -> None:
        super().__init__()
        self.activate = ACTIVATIONS[spec.activation]
        self.hidden = nn.Linear(spec.channels, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, trunk: Tensor) -> Tensor:
        """Raw numbers `[B, outputs]`."""
        raw: Tensor = self.output(self.activate(self.hidden(trunk.mean((2, 3)))))
        return raw


def make_value(spec: NetSpec, cells: int) -> nn.Module:
    """The spec's value head: three logits for `wdl`, else one raw number."""
    outputs, kind = 3 if spec.value == "wdl" else 1, VALUE_KINDS[spec.value_head]
    if kind.channels == 0:
        return PooledHead(spec, outputs, hidden=kind.hidden)
    return DenseHead(spec, cells, outputs, channels=kind.channels, hidden=kind.hidden)


class CellsHead(nn.Module):
    """A logit for every cell, straight from the trunk."""

    def __init__(self, spec: NetSpec) -> None:
        super().__init__()
        self.conv = pointwise(spec.channels, 1, bias=True)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, H * W]`."""
        logits: Tensor = self.conv(trunk).flatten(1)
        return logits


def make_ends(spec: NetSpec, game: Game) -> nn.ModuleDict:
    """Heads for training only, by name."""
    wanted = [end for end in game.heads.ends if end.name in spec.ends]
    return nn.ModuleDict(
        {
            end.name: CellsHead(spec) if end.per_cell else PooledHead(spec, 1, hidden=END_HIDDEN)
            for end in wanted
        }
    )


def make_moves_left(spec: NetSpec, cells: int) -> nn.Module | None:
    """Plies to the end of the game, before the ReLU; pooled where the value is."""
    if not spec.moves_left:
        return None
    if VALUE_KINDS[spec.value_head].channels == 0:
        return PooledHead(spec, 1, hidden=MOVES_LEFT_HIDDEN)
    return DenseHead(spec, cells, 1, channels=MOVES_LEFT_CHANNELS, hidden=MOVES_LEFT_HIDDEN)
