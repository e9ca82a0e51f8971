"""KataGo's attention and feed-forward blocks: points of the board are tokens `[B, T, C]`."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames_go.katago.layout import Part
from zerogames_go.katago.modules import RMSNorm, constant


class AttentionBlock(nn.Module):
    """Attention of points to each other; several heads may share keys and values."""

    frequencies: Tensor

    def __init__(self, part: Part, channels: int) -> None:
        super().__init__()
        self.heads, self.keys, self.depth, value, rotation = part.sizes
        self.norm = RMSNorm(channels)
        self.query = nn.Linear(channels, self.heads * self.depth, bias=False)
        self.key = nn.Linear(channels, self.keys * self.depth, bias=False)
        self.value = nn.Linear(channels, self.keys * value, bias=False)
        self.out = nn.Linear(self.heads * value, channels, bias=False)
        self.is_rotated = rotation > 0
        table = torch.zeros(self.keys, self.depth // 2, 2)
        if rotation == 2:
            self.frequencies = nn.Parameter(table)
        elif rotation == 1:
            self.register_buffer("frequencies", table)

    def turns(self, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines `[T, heads, depth]` by which queries are turned.

        Rows count from the top, as in KataGo; ours begin at the bottom.
        """
        rows = torch.arange(height - 1, -1, -1, device=self.frequencies.device)
        columns = torch.arange(width, device=self.frequencies.device)
        places = torch.cartesian_prod(rows, columns).flip(1).float()  # [T, 2] column, row
        angles = torch.einsum("ta,kpa->tkp", places, self.frequencies)  # [T, keys, depth / 2]
        angles = angles.repeat_interleave(self.heads // self.keys, dim=1)
        signs = torch.tensor([-1.0, 1.0], device=angles.device)
        cosines = angles.cos().repeat_interleave(2, dim=2)
        return cosines, angles.sin()[..., None].mul(signs).flatten(2)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        batch, channels, height, width = x.shape
        tokens = self.norm(x).flatten(2).transpose(1, 2)  # [B, T, C]

        def split(y: Tensor, heads: int) -> Tensor:
            y = y.reshape(*y.shape[:2], heads, -1)  # [B, T, heads, d]
            return y.repeat_interleave(self.heads // heads, dim=2)

        query, key = split(self.query(tokens), self.heads), split(self.key(tokens), self.keys)
        if self.is_rotated:
            cosines, sines = self.turns(height, width)
            query, key = (y * cosines + _swap(y) * sines for y in (query, key))
        value = split(self.value(tokens), self.keys)
        mixed = F.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
        )  # [B, heads, T, d]
        added: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return x + added.transpose(1, 2).reshape(batch, channels, height, width)

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        tokens = net.tokens(net.write(self.norm, x))

        def split(y: Value, heads: int) -> Value:
            """Give every head its own copy of what it shares with others."""
            if heads == self.heads:
                return y
            shared = np.arange(y.shape[1]).reshape(heads, 1, -1)
            index = np.repeat(shared, self.heads // heads, axis=1).ravel()
            return net.op("Gather", y, index, shape=(y.shape[0], index.size), axis=2)

        query = split(net.dense(tokens, self.query), self.heads)
        key = split(net.dense(tokens, self.key), self.keys)
        if self.is_rotated:
            turns = [constant(turn.flatten(1)) for turn in self.turns(*net.program.board)]
            query, key = (self._turned(net, y, *turns) for y in (query, key))
        value = split(net.dense(tokens, self.value), self.keys)
        mixed = net.attention(self.heads, query, key, value)
        return net.add(x, net.planes(net.dense(mixed, self.out)))

    def _turned(
        self, net: ProgramWriter, y: Value, cosines: np.ndarray, sines: np.ndarray
    ) -> Value:
        swapped = np.arange(y.shape[1]).reshape(-1, 2)[:, ::-1].ravel().copy()
        other = net.op("Gather", y, swapped, shape=y.shape, axis=2)
        other = net.op("Mul", other, sines, shape=y.shape)
        return net.op("Add", net.op("Mul", y, cosines, shape=y.shape), other, shape=y.shape)


def _swap(x: Tensor) -> Tensor:
    """The two numbers of each pair the other way round."""
    return x.reshape(*x.shape[:-1], -1, 2).flip(-1).flatten(-2)


class FeedForwardBlock(nn.Module):
    """A dense layer with a gate, and one back to the channels."""

    def __init__(self, part: Part, channels: int) -> None:
        super().__init__()
        [width] = part.sizes
        self.norm = RMSNorm(channels)
        self.hidden = nn.Linear(channels, width, bias=False)
        self.gate = nn.Linear(channels, width, bias=False)
        self.out = nn.Linear(width, channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        tokens = self.norm(x).flatten(2).transpose(1, 2)  # [B, T, C]
        added: Tensor = self.out(F.silu(self.hidden(tokens)) * self.gate(tokens))
        return x + added.transpose(1, 2).reshape(x.shape)

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        tokens = net.tokens(net.write(self.norm, x))
        hidden = net.activate(net.dense(tokens, self.hidden), "swish")
        gate = net.dense(tokens, self.gate)
        hidden = net.op("Mul", hidden, gate, shape=gate.shape)
        return net.add(x, net.planes(net.dense(hidden, self.out)))
