"""The blocks of KataGo's trunks: each adds to a stream `[B, C, H, W]`."""

from torch import Tensor, nn

from zerogames.nets.layers import ACTIVATIONS, spatial
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames_go.katago.layout import FUNCTIONS, Part
from zerogames_go.katago.modules import FixedNorm, GlobalPool, RMSNorm, add_everywhere
from zerogames_go.katago.transformer import AttentionBlock, FeedForwardBlock


class _TwoNorms(nn.Module):
    """What ordinary and pooling blocks and bottlenecks begin and end with."""

    def __init__(self, part: Part, channels: int, windows: tuple[int, int]) -> None:
        super().__init__()
        width = part.sizes[0]
        self.function1, self.function2 = FUNCTIONS[part.functions[0]], FUNCTIONS[part.functions[-1]]
        self.norm1 = FixedNorm(channels)
        self.conv1 = spatial(channels, width, windows[0])
        self.norm2 = FixedNorm(width)
        self.conv2 = spatial(width, channels, windows[1])

    def begin(self, x: Tensor) -> Tensor:
        """What the first convolution reads."""
        return ACTIVATIONS[self.function1](self.norm1(x))

    def end(self, x: Tensor, inner: Tensor) -> Tensor:
        """The stream with what the block adds."""
        added: Tensor = self.conv2(ACTIVATIONS[self.function2](self.norm2(inner)))
        return x + added

    def begin_layers(self, net: ProgramWriter, x: Value) -> Value:
        """`begin` as a program."""
        return net.activate(net.norm(x, self.norm1), self.function1)

    def end_layers(self, net: ProgramWriter, x: Value, inner: Value) -> Value:
        """`end` as a program."""
        planes = net.activate(net.norm(inner, self.norm2), self.function2)
        return net.add(x, net.conv(planes, self.conv2))


class OrdinaryBlock(_TwoNorms):
    """Norm, activation, convolution; and the same again."""

    def __init__(self, part: Part, channels: int) -> None:
        super().__init__(part, channels, (part.sizes[1], part.sizes[2]))

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        return self.end(x, self.conv1(self.begin(x)))

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.conv(self.begin_layers(net, x), self.conv1, self.norm2)
        return net.add(x, net.conv(net.activate(inner, self.function2), self.conv2))


class PoolingBlock(_TwoNorms):
    """An ordinary block with a bias inside that depends on the whole board."""

    def __init__(self, part: Part, channels: int) -> None:
        width, pooled, first, second, last = part.sizes
        super().__init__(part, channels, (first, last))
        self.pool = GlobalPool(part.functions[1], (channels, pooled, width), second)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        planes = self.begin(x)
        _, bias = self.pool(planes)
        return self.end(x, self.conv1(planes) + bias[:, :, None, None])

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        planes = self.begin_layers(net, x)
        inner = net.conv(planes, self.conv1)
        with net.within(self.pool):
            _, bias = self.pool.pooled_layers(net, planes)
        return self.end_layers(net, x, add_everywhere(net, inner, bias))


class BottleneckBlock(_TwoNorms):
    """Blocks on a narrower stream."""

    def __init__(self, part: Part, channels: int) -> None:
        super().__init__(part, channels, (part.sizes[1], part.sizes[2]))
        self.blocks = make_blocks(part.inner, part.sizes[0])

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        return self.end(x, self.blocks(self.conv1(self.begin(x))))

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        inner = net.write(self.blocks, net.conv(self.begin_layers(net, x), self.conv1))
        return self.end_layers(net, x, inner)


KINDS: dict[str, type[nn.Module]] = {
    "o": OrdinaryBlock,
    "g": PoolingBlock,
    "n": BottleneckBlock,
    "a": AttentionBlock,
    "f": FeedForwardBlock,
}
"""The kinds of blocks by their letters."""


def make_blocks(parts: tuple[Part, ...], channels: int) -> nn.Sequential:
    """Blocks in a row on a stream of some channels."""
    return nn.Sequential(*(KINDS[part.kind](part, channels) for part in parts))


class Tip(nn.Module):
    """The end of the trunk: a norm and an activation."""

    def __init__(self, part: Part, channels: int) -> None:
        super().__init__()
        kind, self.function = part.sizes[0], FUNCTIONS[part.functions]
        self.norm: nn.Module = FixedNorm(channels)
        if kind:
            self.norm = RMSNorm(channels, shifted=True, over_board=kind == 2)

    def forward(self, x: Tensor) -> Tensor:
        """Transform the board."""
        return ACTIVATIONS[self.function](self.norm(x))

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        if isinstance(self.norm, FixedNorm):
            return net.activate(net.norm(x, self.norm), self.function)
        return net.activate(net.write(self.norm, x), self.function)


class Stem(nn.Module):
    """A convolution of the planes, and a number for each channel from the constant ones."""

    def __init__(self, planes: int, numbers: int, channels: int, window: int) -> None:
        super().__init__()
        self.split = planes
        self.conv = spatial(planes, channels, window)
        self.numbers = nn.Linear(numbers, channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """From `[B, P, H, W]` to `[B, C, H, W]`."""
        told: Tensor = self.numbers(x[:, self.split :, 0, 0])
        planes: Tensor = self.conv(x[:, : self.split])
        return planes + told[:, :, None, None]

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        """The same as a program."""
        return net.conv_with_numbers(x, self.conv, self.numbers)
