"""Policy, value and moves-left heads over a trunk `[B, C, H, W]`.

A head writes its layers as a program too. The kinds by name are in `zerogames.nets.head_kinds`.
"""

from math import prod

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets.blocks.parts import make_norm
from zerogames.nets.head_kinds import VALUE_KINDS, find_policy
from zerogames.nets.layers import ACTIVATIONS, pointwise, spatial
from zerogames.nets.names import board
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import NO_PASS_LOGIT, NetSpec

POLICY_CHANNELS = 32
MOVES_LEFT_HIDDEN = 128
END_HIDDEN = 50


class PolicyHead(nn.Module):
    """A policy head: from a trunk `[B, C, H, W]` to logits `[B, A]`."""

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__()
        self.function: str = spec.activation
        self.activate = ACTIVATIONS[spec.activation]
        self.cells = prod(board(spec, game))

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program, see `zerogames.nets.program_writer`."""
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

    def layers(self, net: ProgramWriter, planes: Value, trunk: Value) -> Value:
        """The same as a program; `planes` may be flat already."""
        logits = planes if len(planes.shape) == 1 else net.flatten(planes)
        total = logits.size + self.num_other
        if self.other is not None:
            others = net.dense(net.pool(trunk), self.other)
            logits = net.op("Concat", logits, others, shape=(total,), axis=1)
        elif self.num_other:
            pads = np.array([0, 0, 0, self.num_other], np.int64)
            low = np.array(NO_PASS_LOGIT, np.float32)
            logits = net.op("Pad", logits, pads, low, shape=(total,))
        index = np.arange(total) if self.flatten_only else self.index.cpu().numpy()
        return net.gather(logits, index)


class DensePolicy(PolicyHead):
    """1x1 to 32 channels, then one dense layer to all actions (Lc0's classical head)."""

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        self.conv = pointwise(spec.channels, POLICY_CHANNELS)
        self.norm = make_norm(spec, POLICY_CHANNELS)
        self.dense = nn.Linear(POLICY_CHANNELS * self.cells, game.spec.action_size)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        logits: Tensor = self.dense(self.activate(self.norm(self.conv(trunk))).flatten(1))
        return logits

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        planes = net.activate(net.conv(trunk, self.conv, self.norm), self.function)
        return net.dense(net.flatten(planes), self.dense)


class ConvPolicy(PolicyHead):
    """Two 3x3 convolutions to the game's policy planes (Lc0's convolutional head)."""

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

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        planes = net.activate(net.conv(trunk, self.conv1, self.norm), self.function)
        return self.gather.layers(net, net.conv(planes, self.conv2), trunk)


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

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        return self.gather.layers(net, net.conv(trunk, self.conv), trunk)


class AlphaZeroPolicy(PolicyHead):
    """1x1 to two channels, then one dense layer to the board's points."""

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

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        planes = net.activate(net.conv(trunk, self.conv, self.norm), self.function)
        return self.gather.layers(net, net.dense(net.flatten(planes), self.dense), trunk)


def make_policy(spec: NetSpec, game: Game) -> PolicyHead:
    """The spec's policy head."""
    return find_policy(spec, game)(spec, game)


class DenseHead(nn.Module):
    """1x1 convolution, a hidden dense layer, an output layer: value and moves left."""

    def __init__(
        self, spec: NetSpec, cells: int, outputs: int, *, channels: int, hidden: int
    ) -> None:
        super().__init__()
        self.function = spec.activation
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

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        planes = net.activate(net.conv(trunk, self.conv, self.norm), self.function)
        hidden = net.dense(net.flatten(planes), self.hidden)
        return net.dense(net.activate(hidden, self.function), self.output)


class PooledHead(nn.Module):
    """The trunk averaged over the board, a hidden dense layer, an output layer."""

    def __init__(self, spec: NetSpec, outputs: int, *, hidden: int) -> None:
        super().__init__()
        self.function = spec.activation
        self.activate = ACTIVATIONS[spec.activation]
        self.hidden = nn.Linear(spec.channels, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, trunk: Tensor) -> Tensor:
        """Raw numbers `[B, outputs]`."""
        raw: Tensor = self.output(self.activate(self.hidden(trunk.mean((2, 3)))))
        return raw

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        hidden = net.activate(net.dense(net.pool(trunk), self.hidden), self.function)
        return net.dense(hidden, self.output)


class TokensHead(nn.Module):
    """A dense layer over each token, a hidden layer over all of them, an output layer."""

    def __init__(self, spec: NetSpec, cells: int, outputs: int, *, sizes: tuple[int, int]) -> None:
        super().__init__()
        width, hidden = sizes
        self.function = spec.activation
        self.activate = ACTIVATIONS[spec.activation]
        self.embed = nn.Linear(spec.channels, width)
        self.hidden = nn.Linear(width * cells, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, trunk: Tensor) -> Tensor:
        """Raw numbers `[B, outputs]`."""
        tokens = self.activate(self.embed(trunk.flatten(2).transpose(1, 2)))  # [B, T, V]
        raw: Tensor = self.output(self.activate(self.hidden(tokens.flatten(1))))
        return raw

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        tokens = net.activate(net.dense(net.tokens(trunk), self.embed), self.function)
        hidden = net.activate(net.dense(net.flatten(tokens), self.hidden), self.function)
        return net.dense(hidden, self.output)


def make_value(spec: NetSpec, cells: int) -> nn.Module:
    """The spec's value head: three logits for `wdl`, else one raw number."""
    outputs, kind = 3 if spec.value == "wdl" else 1, VALUE_KINDS[spec.value_head]
    if kind.tokens:
        return TokensHead(spec, cells, outputs, sizes=spec.value_sizes)
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
    kind = VALUE_KINDS[spec.value_head]
    if kind.tokens:
        return TokensHead(spec, cells, 1, sizes=spec.moves_left_sizes)
    if kind.channels == 0:
        return PooledHead(spec, 1, hidden=MOVES_LEFT_HIDDEN)
    channels, hidden = spec.moves_left_sizes
    return DenseHead(spec, cells, 1, channels=channels, hidden=hidden)
