"""The parts of KataGo's nets as torch modules that write their layers as a program too."""

from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zerogames.nets.layers import ACTIVATIONS, BatchNorm, spatial
from zerogames.nets.program import GlobalPooling
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter, array
from zerogames_go.katago.layout import FUNCTIONS

BOARD = 14.0
"""Rows of the board on which the scaled averages are 0."""


class FixedNorm(BatchNorm):
    """A batch norm that keeps its statistics when it trains: a factor and a summand.

    Files of newer nets hold nothing else.
    """

    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """Scale and shift `[B, C, H, W]`."""
        return x * self.weight[:, None, None] + self.bias[:, None, None]


def pooling_factors(height: int, width: int) -> tuple[float, float]:
    """The factors of the second average, and of the value head's third one."""
    rows = sqrt(height * width)
    return (rows - BOARD) / 10, (rows - BOARD) ** 2 / 100 - 0.1


def pool(x: Tensor, *, maxima: bool) -> Tensor:
    """Averages, scaled averages, and maxima or averages scaled otherwise: `[B, 3 C]`."""
    second, third = pooling_factors(x.shape[2], x.shape[3])
    means = x.mean((2, 3))
    last = x.amax((2, 3)) if maxima else means * third
    return torch.cat([means, means * second, last], dim=1)


def pool_layer(net: ProgramWriter, x: Value, *, maxima: bool) -> Value:
    """The same as a program."""
    second, third = pooling_factors(*net.program.board)
    factors = (second, None if maxima else third)
    return net.append(GlobalPooling, x, shape=(3 * x.shape[0],), factors=factors)


def constant(tensor: Tensor) -> NDArray[np.float32]:
    """Weights as a constant of a program."""
    return np.asarray(array(tensor))


def add_everywhere(net: ProgramWriter, x: Value, numbers: Value) -> Value:
    """The sum of planes and one number for each."""
    axes = np.array([2, 3], np.int64)
    return net.add(x, net.op("Unsqueeze", numbers, axes, shape=(*numbers.shape, 1, 1)))


class GlobalPool(nn.Module):
    """What the whole board says: a convolution, pooled, as a number for each channel."""

    def __init__(self, function: str, sizes: tuple[int, int, int], window: int) -> None:
        """Make the layers for `sizes`: channels of the input, pooled channels, outputs."""
        super().__init__()
        inputs, pooled, outputs = sizes
        self.function = FUNCTIONS[function]
        self.conv = spatial(inputs, pooled, window)
        self.norm = FixedNorm(pooled)
        self.dense = nn.Linear(3 * pooled, outputs, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The pooled numbers `[B, 3 P]`, and what they say of each channel, `[B, C]`."""
        planes = ACTIVATIONS[self.function](self.norm(self.conv(x)))
        pooled = pool(planes, maxima=True)
        return pooled, self.dense(pooled)

    def pooled_layers(self, net: ProgramWriter, x: Value) -> tuple[Value, Value]:
        """The same as a program."""
        planes = net.activate(net.conv(x, self.conv, self.norm), self.function)
        pooled = pool_layer(net, planes, maxima=True)
        return pooled, net.dense(pooled, self.dense)


class RMSNorm(nn.Module):
    """Planes over the root of their mean square: at each point, or over the whole board."""

    epsilon: Tensor

    def __init__(self, channels: int, *, shifted: bool = False, over_board: bool = False) -> None:
        super().__init__()
        self.axes = (1, 2, 3) if over_board else (1,)
        self.scale = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels)) if shifted else None
        self.register_buffer("epsilon", torch.tensor(1e-6))

    def forward(self, x: Tensor) -> Tensor:
        """Norm `[B, C, H, W]`."""
        root = torch.sqrt(x.square().mean(self.axes, keepdim=True) + self.epsilon)
        normed = x / root * self.scale[:, None, None]
        return normed if self.shift is None else normed + self.shift[:, None, None]

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        square = net.op("Mul", x, x, shape=x.shape)
        kept = (1, 1, 1) if len(self.axes) == 3 else (1, *x.shape[1:])
        mean = net.op("ReduceMean", square, np.array(self.axes, np.int64), shape=kept, keepdims=1)
        root = net.op("Sqrt", net.op("Add", mean, constant(self.epsilon), shape=kept), shape=kept)
        normed = net.op("Div", x, root, shape=x.shape)
        normed = net.op("Mul", normed, constant(self.scale[:, None, None]), shape=x.shape)
        if self.shift is None:
            return normed
        return net.op("Add", normed, constant(self.shift[:, None, None]), shape=x.shape)
