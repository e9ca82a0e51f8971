"""Policy, value and moves-left heads over a trunk `[B, C, H, W]`."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zerogames.errors import UserError
from zerogames.game import Game, PolicyMap
from zerogames.nets.blocks import make_norm
from zerogames.nets.layers import ACTIVATIONS, pointwise, spatial
from zerogames.nets.spec import NetSpec

POLICY_CHANNELS = 32
VALUE_CHANNELS = 32
VALUE_HIDDEN = 128
POOLED_HIDDEN = 50
MOVES_LEFT_CHANNELS = 8
NO_PASS_LOGIT = -1e4
"""For an action the net cannot express: possible only where nothing else is legal."""


class ActionGather(nn.Module):
    """From a policy's planes `[B, planes, H, W]` to logits `[B, A]`.

    Actions without a place on the planes (a pass) get a logit from the pooled trunk, or a very low
    one. A map that only flattens, with such actions last, serves every board size.
    """

    index: Tensor

    def __init__(self, spec: NetSpec, policy_map: PolicyMap, cells: int) -> None:
        super().__init__()
        index = np.asarray(policy_map.index)
        placed = index >= 0
        self.num_other = int((~placed).sum())
        num_placed = len(index) - self.num_other
        num_planes = policy_map.planes * cells
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


class DensePolicy(nn.Module):
    """1x1 to 32 channels, then one dense layer to all actions (Lc0's classical head)."""

    NORMED = (("conv", "norm"),)

    def __init__(self, spec: NetSpec, cells: int, actions: int) -> None:
        super().__init__()
        self.activate = ACTIVATIONS[spec.activation]
        self.conv = pointwise(spec.channels, POLICY_CHANNELS)
        self.norm = make_norm(spec, POLICY_CHANNELS)
        self.dense = nn.Linear(POLICY_CHANNELS * cells, actions)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        logits: Tensor = self.dense(self.activate(self.norm(self.conv(trunk))).flatten(1))
        return logits


class ConvPolicy(nn.Module):
    """Two 3x3 convolutions to the game's policy planes (Lc0's convolutional head)."""

    NORMED = (("conv1", "norm"),)

    def __init__(self, spec: NetSpec, policy_map: PolicyMap, cells: int) -> None:
        super().__init__()
        self.activate = ACTIVATIONS[spec.activation]
        self.conv1 = spatial(spec.channels, spec.channels, 3)
        self.norm = make_norm(spec, spec.channels)
        self.conv2 = spatial(spec.channels, policy_map.planes, 3, bias=True)
        self.gather = ActionGather(spec, policy_map, cells)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        planes = self.conv2(self.activate(self.norm(self.conv1(trunk))))
        logits: Tensor = self.gather(planes, trunk)
        return logits


class PointsPolicy(nn.Module):
    """One 1x1 convolution without bias to the policy planes (the Go papers' `conv`)."""

    def __init__(self, spec: NetSpec, policy_map: PolicyMap, cells: int) -> None:
        super().__init__()
        self.conv = pointwise(spec.channels, policy_map.planes)
        self.gather = ActionGather(spec, policy_map, cells)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        logits: Tensor = self.gather(self.conv(trunk), trunk)
        return logits


class AlphaZeroPolicy(nn.Module):
    """1x1 to two channels, then one dense layer to the board's points."""

    NORMED = (("conv", "norm"),)

    def __init__(self, spec: NetSpec, policy_map: PolicyMap, cells: int) -> None:
        super().__init__()
        self.activate = ACTIVATIONS[spec.activation]
        self.conv = pointwise(spec.channels, 2, bias=True)
        self.norm = make_norm(spec, 2, last=True)
        self.dense = nn.Linear(2 * cells, policy_map.planes * cells)
        self.gather = ActionGather(spec, policy_map, cells)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        points = self.dense(self.activate(self.norm(self.conv(trunk))).flatten(1))
        logits: Tensor = self.gather(points, trunk)
        return logits


class AttentionPolicy(nn.Module):
    """A logit for every pair of squares, and for promotions on the last rank (Lc0's head).

    Its map indexes `from * 64 + to`, then 8 x 24 promotions by from-file, to-file and piece.
    """

    def __init__(self, spec: NetSpec, policy_map: PolicyMap) -> None:
        super().__init__()
        self.activate = ACTIVATIONS[spec.activation]
        channels = spec.channels
        self.embed = nn.Linear(channels, channels)
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels)
        self.promotion = nn.Linear(channels, 4, bias=False)
        self.gather = ActionGather(spec, policy_map, 64)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        squares = self.activate(self.embed(trunk.flatten(2).transpose(1, 2)))  # [B, 64, C]
        query, key = self.query(squares), self.key(squares)
        pairs = query @ key.transpose(1, 2) * trunk.shape[1] ** -0.5  # [B, 64, 64]
        # The knight's promotion is the plain move; the others differ from it by to-file.
        offsets = self.promotion(key[:, 56:])  # [B, 8, 4]
        offsets = offsets[:, :, :3] + offsets[:, :, 3:]
        plain = pairs[:, 48:56, 56:, None]  # [B, from-file, to-file, 1]
        promotions = plain + offsets[:, None]  # [B, from-file, to-file, piece]
        logits = torch.cat([pairs.flatten(1), promotions.flatten(1)], dim=1)
        gathered: Tensor = self.gather(logits, trunk)
        return gathered


def make_policy(spec: NetSpec, game: Game, cells: int) -> nn.Module:
    """The spec's policy head."""
    if spec.policy == "dense":
        return DensePolicy(spec, cells, game.spec.action_size)
    # `points` and `az` fill the planes of the game's convolutional policy.
    kind = "conv" if spec.policy in ("points", "az") else spec.policy
    policy_map = game.heads.policy_maps.get(kind)
    if policy_map is None:
        raise UserError(
            f"net '{spec.name}': {game.spec.name} has no planes for a '{spec.policy}' policy; "
            "take the dense one"
        )
    if spec.policy == "attention":
        return AttentionPolicy(spec, policy_map)
    head = {"conv": ConvPolicy, "points": PointsPolicy, "az": AlphaZeroPolicy}[spec.policy]
    return head(spec, policy_map, cells)


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
    outputs = 3 if spec.value == "wdl" else 1
    if spec.value_head == "gap":
        return PooledHead(spec, outputs, hidden=POOLED_HIDDEN)
    if spec.value_head == "az":
        return DenseHead(spec, cells, outputs, channels=1, hidden=256)
    return DenseHead(spec, cells, outputs, channels=VALUE_CHANNELS, hidden=VALUE_HIDDEN)


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
            end.name: CellsHead(spec) if end.per_cell else PooledHead(spec, 1, hidden=POOLED_HIDDEN)
            for end in wanted
        }
    )


def make_moves_left(spec: NetSpec, cells: int) -> nn.Module | None:
    """Plies to the end of the game, before the ReLU; pooled where the value is."""
    if not spec.moves_left:
        return None
    if spec.value_head == "gap":
        return PooledHead(spec, 1, hidden=VALUE_HIDDEN)
    return DenseHead(spec, cells, 1, channels=MOVES_LEFT_CHANNELS, hidden=VALUE_HIDDEN)
