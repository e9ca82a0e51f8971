"""KataGo's policy and value heads."""

import numpy as np
import torch
from torch import Tensor, nn

from zerogames.nets.layers import ACTIVATIONS, pointwise
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames_go.katago.layout import FUNCTIONS, Layout, Part
from zerogames_go.katago.modules import (
    FixedNorm,
    GlobalPool,
    add_everywhere,
    constant,
    pool,
    pool_layer,
)


class KataGoPolicy(nn.Module):
    """A logit for each point and the pass; further outputs of newer nets are not used."""

    def __init__(self, part: Part, channels: int) -> None:
        super().__init__()
        width, pooled, outputs, hidden = part.sizes
        self.function = FUNCTIONS[part.functions[1]]
        self.conv = pointwise(channels, width)
        self.pool = GlobalPool(part.functions[0], (channels, pooled, width), 1)
        self.norm = FixedNorm(width)
        self.points = pointwise(width, outputs)
        self.pass_hidden, self.pass_function = None, ""
        if hidden:
            self.pass_hidden = nn.Linear(3 * pooled, hidden)
            self.pass_function = FUNCTIONS[part.functions[2]]
        self.pass_out = nn.Linear(hidden or 3 * pooled, outputs, bias=False)

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, H * W + 1]`."""
        pooled, bias = self.pool(trunk)
        planes = self.conv(trunk) + bias[:, :, None, None]
        points = self.points(ACTIVATIONS[self.function](self.norm(planes)))
        if self.pass_hidden is not None:
            pooled = ACTIVATIONS[self.pass_function](self.pass_hidden(pooled))
        passes = self.pass_out(pooled)
        return torch.cat([points[:, 0].flatten(1), passes[:, :1]], dim=1)

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program."""
        planes = net.conv(trunk, self.conv)
        with net.within(self.pool):
            pooled, bias = self.pool.pooled_layers(net, trunk)
        planes = net.norm(add_everywhere(net, planes, bias), self.norm)
        points = net.flatten(net.conv(net.activate(planes, self.function), self.points))
        if self.pass_hidden is not None:
            pooled = net.activate(net.dense(pooled, self.pass_hidden), self.pass_function)
        passes = net.dense(pooled, self.pass_out)
        cells = points.size // passes.size
        logits = net.op("Concat", points, passes, shape=(points.size + passes.size,), axis=1)
        return net.gather(logits, np.append(np.arange(cells), points.size))


class KataGoValue(nn.Module):
    """Win, no result, loss; numbers of the score; the owner of each point."""

    multipliers: Tensor

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        width, hidden = layout.value.sizes
        self.function, self.hidden_function = (FUNCTIONS[one] for one in layout.value.functions)
        self.conv = pointwise(layout.channels, width)
        self.norm = FixedNorm(width)
        self.hidden = nn.Linear(3 * width, hidden)
        self.output = nn.Linear(hidden, 3)
        self.scores = nn.Linear(hidden, layout.scores)
        self.ownership = pointwise(width, 1)
        self.register_buffer("multipliers", torch.ones(7))

    def forward(self, trunk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Raw value `[B, 3]`, raw scores `[B, 4 or 6]`, raw owners `[B, H * W]`."""
        planes = ACTIVATIONS[self.function](self.norm(self.conv(trunk)))
        hidden = self.hidden(pool(planes, maxima=False))
        hidden = ACTIVATIONS[self.hidden_function](hidden)
        return self.output(hidden), self.scores(hidden), self.ownership(planes).flatten(1)

    def score(self, raw: Tensor, p_no_result: Tensor) -> tuple[Tensor, Tensor]:
        """Expected final score and lead, `[B]`, from the raw scores."""
        ends = 1 - p_no_result
        factors = self.multipliers
        return raw[:, 0] * factors[1] * ends, raw[:, 2] * factors[3] * ends

    def raw_layers(self, net: ProgramWriter, trunk: Value) -> tuple[Value, Value, Value]:
        """`forward` as a program."""
        planes = net.activate(net.conv(trunk, self.conv, self.norm), self.function)
        hidden = net.dense(pool_layer(net, planes, maxima=False), self.hidden)
        hidden = net.activate(hidden, self.hidden_function)
        owners = net.flatten(net.conv(planes, self.ownership))
        return net.dense(hidden, self.output), net.dense(hidden, self.scores), owners

    def score_layers(self, net: ProgramWriter, raw: Value, wdl: Value) -> tuple[Value, Value]:
        """`score` as a program."""
        one = np.ones(1, np.float32)
        ends = net.op("Sub", one, net.gather(wdl, np.array([1])), shape=(1,))

        def scaled(column: int, factor: Tensor) -> Value:
            number = net.op("Mul", net.gather(raw, np.array([column])), ends, shape=(1,))
            number = net.op("Mul", number, constant(factor[None]), shape=(1,))
            return net.op("Squeeze", number, np.array([1]), shape=())

        return scaled(0, self.multipliers[1]), scaled(2, self.multipliers[3])
