"""Encoder blocks: attention of the squares to each other, then a feed-forward network (FFN).

With norms behind each sum they are Lc0's: `x + a f(x)` with a = (2 L)^-1/4 for L blocks, and its
initial weights.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from zerogames_kernels import Pattern

from zerogames.nets.block_kinds import StageSite
from zerogames.nets.board_relations import extended_patterns, offset_index, reach_map
from zerogames.nets.layers import ACTIVATIONS
from zerogames.nets.program import Dense
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter, array
from zerogames.nets.spec import EncoderStage

PIECE_PLANES = 12
"""Lc0's planes of the pieces on the board, which its dense layer for positions reads."""
EMBEDDING_EPSILON = SMOLGEN_EPSILON = 1e-3
MASKED = -1e4
"""Added where a head may not look."""
PREFERENCE = 4.0
"""What a head's own pattern is worth at first."""
LARGEST_OFFSET = 18
"""Rows and columns; squares farther away count as so far."""


def to_tokens(planes: Tensor) -> Tensor:
    """`[B, C, H, W]` as a token for each point, `[B, H * W, C]`."""
    return planes.flatten(2).transpose(1, 2)


def to_planes(tokens: Tensor, like: Tensor) -> Tensor:
    """`[B, H * W, C]` as planes of the same board."""
    return tokens.transpose(1, 2).reshape(len(tokens), -1, *like.shape[2:])


class FeedForward(nn.Module):
    """Two dense layers over each token."""

    def __init__(self, channels: int, hidden: int, function: str) -> None:
        super().__init__()
        self.function = function
        self.expand = nn.Linear(channels, hidden)
        self.project = nn.Linear(hidden, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Transform tokens."""
        y: Tensor = self.project(ACTIVATIONS[self.function](self.expand(x)))
        return y

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        return net.dense(net.activate(net.dense(x, self.expand), self.function), self.project)


class Smolgen(nn.Module):
    """Makes the bias of attention, `[B, heads, T, T]`, from the position (Lc0's invention)."""

    def __init__(self, stage: EncoderStage, cells: int, to_logits: nn.Linear) -> None:
        super().__init__()
        each_square, hidden, each_head = stage.smolgen
        self.function, self.heads, self.cells = stage.smolgen_function, stage.heads, cells
        self.compress = nn.Linear(stage.channels, each_square, bias=False)
        self.hidden = nn.Linear(cells * each_square, hidden)
        self.norm1 = nn.LayerNorm(hidden, eps=SMOLGEN_EPSILON)
        self.output = nn.Linear(hidden, stage.heads * each_head)
        self.norm2 = nn.LayerNorm(stage.heads * each_head, eps=SMOLGEN_EPSILON)
        # All blocks share it, so it is the embedding's and none of theirs.
        self._shared = (to_logits,)

    def forward(self, x: Tensor) -> Tensor:
        """The bias from tokens `[B, T, C]`."""
        activate = ACTIVATIONS[self.function]
        hidden = self.norm1(activate(self.hidden(self.compress(x).flatten(1))))
        heads = self.norm2(activate(self.output(hidden))).unflatten(1, (self.heads, -1))
        logits: Tensor = self._shared[0](heads).unflatten(2, (self.cells, self.cells))
        return logits

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        hidden = net.dense(net.flatten(net.dense(x, self.compress)), self.hidden)
        hidden = net.norm(net.activate(hidden, self.function), self.norm1)
        hidden = net.activate(net.dense(hidden, self.output), self.function)
        flat = net.norm(hidden, self.norm2)
        logits = net.dense(net.reshape(flat, self.heads, -1), self._shared[0])
        return net.reshape(logits, self.heads, self.cells, self.cells)


class FixedBias(nn.Module):
    """The bias of attention that no position changes, `[heads, T, T]`: tables and patterns."""

    own: Tensor

    def __init__(
        self, stage: EncoderStage, patterns: Mapping[str, Pattern], board: tuple[int, int]
    ) -> None:
        super().__init__()
        self.hard = stage.hard
        self.patterns = tuple(patterns.values()) if stage.bias == "mask" else ()
        self.table: nn.Parameter | None = None
        self.offsets: nn.Parameter | None = None
        self.preference: nn.Parameter | None = None
        if stage.bias == "static":
            cells = board[0] * board[1]
            self.table = nn.Parameter(torch.zeros(stage.heads, cells, cells))
        if stage.positions == "offsets":
            self.offsets = nn.Parameter(torch.zeros(stage.heads, (2 * LARGEST_OFFSET + 1) ** 2))
        if self.patterns:
            masks = len(extended_patterns(self.patterns, board))
            own = torch.from_numpy(np.eye(masks, dtype=np.float32)[np.arange(stage.heads) % masks])
            if stage.hard:
                self.register_buffer("own", own, persistent=False)
            else:
                self.preference = nn.Parameter(PREFERENCE * own)

    def forward(self, board: tuple[int, int]) -> Tensor:
        """The bias on a board."""
        total: Tensor | None = self.table
        if self.offsets is not None:
            index = torch.from_numpy(offset_index(board, LARGEST_OFFSET))
            found = self.offsets[:, index]
            total = found if total is None else total + found
        if self.patterns:
            masks = torch.from_numpy(extended_patterns(self.patterns, board))
            weights = self.own if self.hard else cast(Tensor, self.preference)
            found = torch.einsum("hm,mqk->hqk", weights, masks.to(weights))
            found = (1 - found) * MASKED if self.hard else found
            total = found if total is None else total + found
        assert total is not None
        return total


class EncoderBlock(nn.Module):
    """Attention and FFN on tokens."""

    def __init__(
        self, stage: EncoderStage, function: str, *, scale: float, pre_norm: bool = False
    ) -> None:
        super().__init__()
        self.heads, self.scale, self.pre_norm = stage.heads, scale, pre_norm
        channels, width, epsilon = stage.channels, stage.width, stage.epsilon
        self.query = nn.Linear(channels, width)
        self.key = nn.Linear(channels, width)
        self.value = nn.Linear(channels, width)
        self.output = nn.Linear(width, channels)
        self.norm1 = nn.LayerNorm(channels, eps=epsilon)
        self.ffn = FeedForward(channels, stage.hidden, stage.function or function)
        self.norm2 = nn.LayerNorm(channels, eps=epsilon)
        self.fixed_bias: FixedBias | None = None
        self.smolgen: Smolgen | None = None
        self.last_norm: nn.LayerNorm | None = None

    def draw(self) -> None:
        """Make what is added to the trunk small at first: variances (8 L)^-1/4 times the usual."""
        if self.pre_norm:
            return
        with torch.no_grad():
            for part in (self.value, self.output, self.ffn.expand, self.ffn.project):
                part.weight.mul_((self.scale**2 / 2) ** 0.25)

    def attend(self, x: Tensor, board: tuple[int, int]) -> Tensor:
        """What attention adds to tokens `[B, T, C]`."""
        query, key, value = (
            part(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )  # [B, heads, T, d]
        bias = None if self.fixed_bias is None else self.fixed_bias(board).to(query.dtype)
        if self.smolgen is not None:
            made = self.smolgen(x).to(query.dtype)
            bias = made if bias is None else made + bias
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        added: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return added

    def transform(self, x: Tensor, board: tuple[int, int]) -> Tensor:
        """The same on tokens."""
        if self.pre_norm:
            x = x + self.attend(self.norm1(x), board)
            x = x + self.ffn(self.norm2(x))
            return x if self.last_norm is None else self.last_norm(x)
        x = self.norm1(x + self.scale * self.attend(x, board))
        result: Tensor = self.norm2(x + self.scale * self.ffn(x))
        return result

    def forward(self, planes: Tensor) -> Tensor:
        """Transform the board, `[B, C, H, W]`."""
        tokens = self.transform(to_tokens(planes), (planes.shape[2], planes.shape[3]))
        return to_planes(tokens, planes)

    def layers(self, net: ProgramWriter, planes: Value) -> Value:
        """The same as a program."""
        return net.planes(self.token_layers(net, net.tokens(planes)))

    def token_layers(self, net: ProgramWriter, x: Value) -> Value:
        """The layers on tokens."""
        if self.pre_norm:
            x = net.add(x, self._attention_layers(net, net.norm(x, self.norm1)))
            x = net.add(x, self.ffn.layers(net, net.norm(x, self.norm2)))
            return x if self.last_norm is None else net.norm(x, self.last_norm)
        x = net.norm(net.add(x, self._scaled(net, self._attention_layers(net, x))), self.norm1)
        return net.norm(net.add(x, self._scaled(net, self.ffn.layers(net, x))), self.norm2)

    def _scaled(self, net: ProgramWriter, x: Value) -> Value:
        if self.scale == 1:
            return x
        return net.op("Mul", x, np.array(self.scale, np.float32), shape=x.shape)

    def _attention_layers(self, net: ProgramWriter, x: Value) -> Value:
        parts = [net.dense(x, part) for part in (self.query, self.key, self.value)]
        bias = []
        if self.fixed_bias is not None:
            with net.within(self.fixed_bias):
                trainable = sum(part.numel() for part in self.fixed_bias.parameters())
                table = self.fixed_bias(net.program.board)
                bias.append(net.weights(table, "bias", trainable=trainable))
        if self.smolgen is not None:
            with net.within(self.smolgen):
                bias.append(self.smolgen.layers(net, x))
        return net.dense(
            net.attention(self.heads, parts[0], parts[1], parts[2], *bias), self.output
        )


class Embedding(nn.Module):
    """What leads into a stage of encoders: tokens from planes, and where they are."""

    reach: Tensor | None

    def __init__(self, site: StageSite, stage: EncoderStage, *, scale: float) -> None:
        super().__init__()
        channels, function = stage.channels, site.spec.activation
        cells = site.board[0] * site.board[1]
        self.function, self.inputs, self.scale = function, site.inputs, scale
        self.pieces: nn.Linear | None = None
        reach, inputs = None, site.inputs
        if stage.positions == "map":
            reach = torch.from_numpy(reach_map(tuple(site.game_patterns.values()), site.board))
            inputs += cells
        elif stage.positions == "dense":
            self.pieces = nn.Linear(PIECE_PLANES * cells, stage.dense[0] * cells)
            inputs += stage.dense[0]
        self.register_buffer("reach", reach, persistent=False)
        self.embed = nn.Linear(inputs, channels)
        self.table: nn.Parameter | None = None
        self.factor: nn.Parameter | None = None
        self.summand: nn.Parameter | None = None
        if stage.positions == "table":
            self.table = nn.Parameter(torch.zeros(cells, channels))
        if stage.gates:
            self.factor = nn.Parameter(torch.ones(cells, channels))
            self.summand = nn.Parameter(torch.zeros(cells, channels))
        self.norm1: nn.LayerNorm | None = None
        self.norm2: nn.LayerNorm | None = None
        self.ffn: FeedForward | None = None
        if stage.positions == "dense":
            self.norm1 = nn.LayerNorm(channels, eps=EMBEDDING_EPSILON)
            self.ffn = FeedForward(channels, stage.dense[1], stage.function or function)
            self.norm2 = nn.LayerNorm(channels, eps=EMBEDDING_EPSILON)
        self.to_logits: nn.Linear | None = None
        if stage.bias == "smolgen":
            self.to_logits = nn.Linear(stage.smolgen[2], cells * cells, bias=False)

    def draw(self) -> None:
        """Let positions differ from the start."""
        if self.table is not None:
            nn.init.normal_(self.table, std=0.1)

    def forward(self, planes: Tensor) -> Tensor:
        """`[B, C, H, W]` from planes of the input or the trunk."""
        x = to_tokens(planes)
        if self.reach is not None:
            x = torch.cat([x, self.reach.to(x).expand(len(x), -1, -1)], dim=2)
        elif self.pieces is not None:
            made = self.pieces(x[:, :, :PIECE_PLANES].flatten(1)).unflatten(1, (x.shape[1], -1))
            x = torch.cat([x, made], dim=2)
        x = ACTIVATIONS[self.function](self.embed(x))
        if self.norm1 is not None:
            x = self.norm1(x)
        if self.factor is not None:
            x = x * self.factor + cast(Tensor, self.summand)
        if self.table is not None:
            x = x + self.table
        if self.ffn is not None:
            x = cast(nn.LayerNorm, self.norm2)(x + self.scale * self.ffn(x))
        return to_planes(x, planes)

    def layers(self, net: ProgramWriter, planes: Value) -> Value:
        """The same as a program."""
        x = net.tokens(planes)
        if self.reach is not None:
            # The map is the same for every position: its share is a table.
            weight, bias = array(self.embed.weight), array(self.embed.bias)
            first, rest = weight[:, : self.inputs], weight[:, self.inputs :]
            shape = (x.shape[0], len(weight))
            with net.within(self.embed):
                x = net.append(Dense, x, shape=shape, weight=first, bias=None)
                table = array(self.reach) @ rest.T + bias
                x = net.add(
                    x, net.weights(torch.from_numpy(table), "map", trainable=rest.size + bias.size)
                )
        else:
            if self.pieces is not None:
                ends = (np.array([end], np.int64) for end in (0, PIECE_PLANES, 2))
                shape = (x.shape[0], PIECE_PLANES)
                made = net.dense(net.flatten(net.op("Slice", x, *ends, shape=shape)), self.pieces)
                made = net.reshape(made, x.shape[0], -1)
                shape = (x.shape[0], x.shape[1] + made.shape[1])
                x = net.op("Concat", x, made, shape=shape, axis=2)
            x = net.dense(x, self.embed)
        x = net.activate(x, self.function)
        if self.norm1 is not None:
            x = net.norm(x, self.norm1)
        if self.factor is not None:
            x = net.op("Mul", x, net.weights(self.factor, "factor"), shape=x.shape)
            x = net.add(x, net.weights(cast(Tensor, self.summand), "summand"))
        if self.table is not None:
            x = net.add(x, net.weights(self.table, "positions"))
        if self.ffn is not None:
            added = self.ffn.layers(net, x)
            added = net.op("Mul", added, np.array(self.scale, np.float32), shape=added.shape)
            x = net.norm(net.add(x, added), cast(nn.LayerNorm, self.norm2))
        return net.planes(x)


def make_stage(site: StageSite) -> tuple[nn.Module | None, Sequence[nn.Module]]:
    """The modules of a stage."""
    stage = site.stage
    assert isinstance(stage, EncoderStage)
    scale = 1.0 if stage.pre_norm else (2 * stage.blocks) ** -0.25
    embedding = Embedding(site, stage, scale=scale)
    blocks = []
    for number in range(stage.blocks):
        block = EncoderBlock(stage, site.spec.activation, scale=scale, pre_norm=stage.pre_norm)
        if stage.bias in ("static", "mask") or stage.positions == "offsets":
            block.fixed_bias = FixedBias(stage, site.game_patterns, site.board)
        if embedding.to_logits is not None:
            block.smolgen = Smolgen(stage, site.board[0] * site.board[1], embedding.to_logits)
        if stage.pre_norm and number == stage.blocks - 1:
            block.last_norm = nn.LayerNorm(stage.channels, eps=stage.epsilon)
        blocks.append(block)
    return embedding, blocks
