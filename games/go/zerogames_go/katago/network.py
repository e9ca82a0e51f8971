"""The net that a file of KataGo holds: its layout and its weights by our names; needs no torch.

A file is a stream of words and arrays of numbers, gzip or plain. Rows of windows are turned: ours
begin at the bottom of the board.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zerogames.errors import UserError, unknown_name
from zerogames_go.katago.layout import MAX_DEPTH, VERSIONS, Layout, Part, check_layout, check_part
from zerogames_go.net_tokens import Floats, TokenReader, open_tokens

PLANES, NUMBERS = 22, 19
OLD_INPUTS = {3: "V3", 4: "V3", 5: "V4", 6: "V5", 7: "V6"}
"""The input features of older versions."""
DEFAULT_MULTIPLIERS = (20.0, 20.0, 20.0, 20.0, 40.0, 0.25, 30.0)
"""Those of versions without their own: of the final score, its mean and deviation, the lead, the
variance of time, and the short-term errors of value and score."""
_LETTERS = {"IDENTITY": "i", "RELU": "r", "MISH": "m", "SILU": "s"}
_MAX_NAME = 96
_MAX_SIZE = 1 << 16
_MAX_BLOCKS = 256
_BLOCKS = {
    "ordinary_block": "o",
    "gpool_block": "g",
    "nested_bottleneck_block": "n",
    "transformer_attention_block": "a",
    "transformer_ffn_block": "f",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class KataGoNet:
    """A net as its file holds it."""

    title: str
    """The name in the file."""
    layout: Layout
    pass_alive: bool
    """Whether area is found as if suicide were legal."""
    tensors: Mapping[str, Floats]
    """Weights by the names of our modules."""


def is_katago(head: bytes) -> bool:
    """Whether the first bytes of a file, unpacked, may be those of such a net: a name, a number."""
    words = head[:400].split(None, 2)
    return len(words) > 2 and not words[0].isdigit() and words[1].isdigit()


def read_katago(path: str | Path) -> KataGoNet:
    """Read a net file; raise `UserError` that says what is wrong with it."""
    with open_tokens(Path(path)) as tokens:
        return _NetReader(tokens).net()


class _NetReader:
    """Reads records in the order of the file."""

    def __init__(self, tokens: TokenReader) -> None:
        self._tokens = tokens
        self._tensors: dict[str, Floats] = {}
        self._version = 0

    def net(self) -> KataGoNet:
        """The whole file."""
        tokens = self._tokens
        title = tokens.word("the name of the net")
        if len(title) > _MAX_NAME or not set(title) <= _NAME_LETTERS:
            raise UserError(f"'{title[:40]}' is no name of a net of KataGo")
        self._version = version = tokens.integer("the version", 0, 10_000)
        if version not in VERSIONS:
            old = OLD_INPUTS.get(version)
            reason = f"it needs the input features {old}" if old else "this is not known here"
            raise UserError(f"a net of KataGo of version {version}: {reason}")
        for what, wanted in (("spatial", PLANES), ("global", NUMBERS)):
            found = tokens.integer(f"the number of {what} inputs", 0, _MAX_SIZE)
            if found != wanted:
                raise UserError(f"{found} {what} inputs are not those of KataGo's features V7")
        self._multipliers()
        pass_alive = version >= 15 and self._header()
        layout = self._layout()
        tokens.end()
        for name, array in self._tensors.items():
            if not np.isfinite(array).all():
                raise UserError(f"damaged: {name} holds numbers that are not finite")
        return KataGoNet(title=title, layout=layout, pass_alive=pass_alive, tensors=self._tensors)

    def _multipliers(self) -> None:
        values: tuple[float, ...] = DEFAULT_MULTIPLIERS
        if self._version >= 13:
            values = tuple(self._tokens.real("a multiplier") for _ in DEFAULT_MULTIPLIERS)
        if min(values) <= 0:
            raise UserError("a multiplier of the net's outputs is not above 0")
        self._tensors["value.multipliers"] = np.array(values, np.float32)

    def _header(self) -> bool:
        if self._tokens.integer("the version of the meta encoder", 0, 1000):
            raise UserError("a human-imitation net of KataGo: it needs inputs that play has not")
        pass_alive = self._tokens.integer("the pass-alive flag", 0, 1) == 1
        self._tokens.zeros("the header", 6)
        return pass_alive

    def _layout(self) -> Layout:
        tokens = self._tokens
        tokens.word("the name of the trunk")
        count = tokens.integer("the number of blocks", 0, _MAX_BLOCKS)
        for what in ("trunk", "mid", "regular", "dilated", "pooled"):
            tokens.integer(f"the number of {what} channels", 0, _MAX_SIZE)
        has_rms = 0
        if self._version >= 15:
            has_rms = tokens.integer("the kind of the trunk's norm", 0, 1)
            tokens.zeros("the trunk", 5)
        channels, window = self._conv("stem.conv", PLANES)
        self._dense("stem.numbers", NUMBERS, channels)
        blocks = self._blocks("blocks", count, channels, 0)
        tip = self._tip(channels, has_rms=bool(has_rms))
        layout = Layout(
            version=self._version,
            channels=channels,
            window=window,
            blocks=blocks,
            tip=tip,
            policy=self._policy(channels),
            value=self._value(channels),
        )
        check_layout(layout)
        return layout

    def _blocks(self, name: str, count: int, channels: int, depth: int) -> tuple[Part, ...]:
        if depth > MAX_DEPTH:
            raise UserError("its blocks are nested too deep")
        return tuple(self._block(f"{name}.{i}", channels, depth) for i in range(count))

    def _block(self, name: str, channels: int, depth: int) -> Part:
        word = self._tokens.word("the kind of a block")
        if word not in _BLOCKS:
            raise unknown_name("block of KataGo's nets", word, _BLOCKS)
        kind = _BLOCKS[word]
        if kind in "af" and self._version < 15:
            raise UserError(f"a net of version {self._version} has no {word}")
        self._tokens.word("the name of a block")
        inner: tuple[Part, ...] = ()
        functions, sizes = "", tuple[int, ...]()
        if kind == "o":
            functions, sizes = self._two_convs(name, channels, channels)
        elif kind == "g":
            functions, sizes = self._pooling_block(name, channels)
        elif kind == "n":
            count = self._tokens.integer("the number of inner blocks", 0, _MAX_BLOCKS)
            first = self._norm(f"{name}.norm1", channels)
            width, window = self._conv(f"{name}.conv1", channels)
            inner = self._blocks(f"{name}.blocks", count, width, depth + 1)
            functions = first + self._norm(f"{name}.norm2", width)
            sizes = width, window, self._conv(f"{name}.conv2", width, channels)[1]
        elif kind == "a":
            sizes = self._attention(name, channels)
        else:
            sizes = self._feed_forward(name, channels)
        part = Part(kind, sizes, functions, inner)
        check_part(part)
        return part

    def _two_convs(self, name: str, inputs: int, outputs: int) -> tuple[str, tuple[int, ...]]:
        functions = self._norm(f"{name}.norm1", inputs)
        width, first = self._conv(f"{name}.conv1", inputs)
        functions += self._norm(f"{name}.norm2", width)
        return functions, (width, first, self._conv(f"{name}.conv2", width, outputs)[1])

    def _pooling_block(self, name: str, channels: int) -> tuple[str, tuple[int, ...]]:
        functions = self._norm(f"{name}.norm1", channels)
        width, first = self._conv(f"{name}.conv1", channels)
        pooled, second = self._conv(f"{name}.pool.conv", channels)
        functions += self._norm(f"{name}.pool.norm", pooled)
        self._dense(f"{name}.pool.dense", 3 * pooled, width)
        functions += self._norm(f"{name}.norm2", width)
        last = self._conv(f"{name}.conv2", width, channels)[1]
        return functions, (width, pooled, first, second, last)

    def _attention(self, name: str, channels: int) -> tuple[int, ...]:
        tokens = self._tokens
        heads, keys, query, value = (
            tokens.integer(what, 1, 1024)
            for what in ("heads", "heads of keys", "a query's size", "a value's size")
        )
        rotation = tokens.integer("the rope flag", 0, 1)
        learnt = tokens.integer("the learned flag", 0, 1)
        check_part(Part("a", (heads, keys, query, value, rotation + (rotation & learnt))))
        self._rms(f"{name}.norm", channels)
        self._dense(f"{name}.query", channels, heads * query)
        self._dense(f"{name}.key", channels, keys * query)
        self._dense(f"{name}.value", channels, keys * value)
        self._dense(f"{name}.out", heads * value, channels)
        if rotation:
            tokens.word("the name of the rope")
            shape = (keys, query // 2, 2)
            if learnt:
                for what, size in zip(("keys", "pairs", "axes"), shape, strict=True):
                    self._same(f"the rope's {what}", tokens.integer("a size", 0, _MAX_SIZE), size)
                table = tokens.numbers("the rope", keys * (query // 2) * 2).reshape(shape)
            else:
                table = _fixed_rope(tokens.real("theta"), shape)
            self._tensors[f"{name}.frequencies"] = table
        return heads, keys, query, value, rotation + (rotation & learnt)

    def _feed_forward(self, name: str, channels: int) -> tuple[int, ...]:
        tokens = self._tokens
        self._same("channels", tokens.integer("the channels", 1, _MAX_SIZE), channels)
        width = tokens.integer("the width", 1, _MAX_SIZE)
        if not tokens.integer("the gate flag", 0, 1):
            raise UserError("a transformer_ffn_block without a gate is not known here")
        self._rms(f"{name}.norm", channels)
        self._dense(f"{name}.hidden", channels, width)
        self._dense(f"{name}.gate", channels, width)
        self._dense(f"{name}.out", width, channels)
        return (width,)

    def _tip(self, channels: int, *, has_rms: bool) -> Part:
        if not has_rms:
            return Part("t", (0,), self._norm("tip.norm", channels))
        tokens = self._tokens
        tokens.word("the name of the norm")
        self._same("channels", tokens.integer("the channels", 1, _MAX_SIZE), channels)
        self._epsilon("tip.norm.epsilon")
        spatial = tokens.integer("the spatial flag", 0, 1)
        self._same("the group size", tokens.integer("the group size", 0, _MAX_SIZE), 0)
        for name in ("tip.norm.scale", "tip.norm.shift"):
            self._tensors[name] = tokens.numbers(name, channels)
        return Part("t", (1 + spatial,), self._function())

    def _policy(self, channels: int) -> Part:
        tokens, version = self._tokens, self._version
        tokens.word("the name of the policy head")
        outputs = 1 if version < 12 else 2 if version < 16 else 4
        if version >= 17:
            outputs = tokens.integer("the policy's outputs", 2, 4)
            tokens.zeros("the policy head", 3)
        width = self._conv("policy.conv", channels, window=1)[0]
        pooled = self._conv("policy.pool.conv", channels, window=1)[0]
        functions = self._norm("policy.pool.norm", pooled)
        self._dense("policy.pool.dense", 3 * pooled, width)
        functions += self._norm("policy.norm", width)
        self._conv("policy.points", width, outputs, window=1)
        if version < 15:
            self._dense("policy.pass_out", 3 * pooled, outputs)
            return self._checked(Part("p", (width, pooled, outputs, 0), functions))
        hidden = self._dense("policy.pass_hidden", 3 * pooled, None, has_bias=True)
        functions += self._function()
        self._dense("policy.pass_out", hidden, outputs)
        return self._checked(Part("p", (width, pooled, outputs, hidden), functions))

    def _value(self, channels: int) -> Part:
        tokens = self._tokens
        tokens.word("the name of the value head")
        if self._version >= 17:
            tokens.zeros("the value head", 3)
        width = self._conv("value.conv", channels, window=1)[0]
        functions = self._norm("value.norm", width)
        hidden = self._dense("value.hidden", 3 * width, None, has_bias=True)
        functions += self._function()
        self._dense("value.output", hidden, 3, has_bias=True)
        for name in ("value.output.weight", "value.output.bias"):
            self._tensors[name] = self._tensors[name][[0, 2, 1]]  # win, no result, loss
        self._dense("value.scores", hidden, 4 if self._version == 8 else 6, has_bias=True)
        self._conv("value.ownership", width, 1, window=1)
        return self._checked(Part("v", (width, hidden), functions))

    def _checked(self, part: Part) -> Part:
        check_part(part)
        return part

    def _conv(
        self, name: str, inputs: int, outputs: int | None = None, *, window: int | None = None
    ) -> tuple[int, int]:
        """A CONV record; returns the channels and the window."""
        tokens = self._tokens
        tokens.word("the name of a convolution")
        fields = ("height", "width", "inputs", "outputs", "dilation", "dilation")
        found = [tokens.integer(f"{name}: {what}", 1, _MAX_SIZE) for what in fields]
        rows, columns, wide, channels, *dilations = found
        if rows != columns or rows % 2 == 0 or rows > 9 or window not in (None, rows):
            raise UserError(f"{name} has a window of {rows}x{columns}, which is not known here")
        if dilations != [1, 1]:
            raise UserError(f"{name} is dilated, which is not known here")
        self._same(f"{name}: inputs", wide, inputs)
        self._same(f"{name}: outputs", channels, channels if outputs is None else outputs)
        array = tokens.numbers(name, rows * rows * wide * channels)
        array = array.reshape(rows, rows, wide, channels)[::-1].transpose(3, 2, 0, 1)
        self._tensors[f"{name}.weight"] = array.copy()
        return channels, rows

    def _norm(self, name: str, channels: int) -> str:
        """BN and ACT records; returns the letter of the activation."""
        tokens = self._tokens
        tokens.word("the name of a norm")
        found = tokens.integer(f"{name}: channels", 1, _MAX_SIZE)
        self._same(f"{name}: channels", found, channels)
        epsilon = tokens.real(f"{name}: epsilon")
        has = [tokens.integer(f"{name}: flag", 0, 1) for _ in range(2)]
        mean, variance = (tokens.numbers(name, channels).astype(np.float64) for _ in range(2))
        if (variance < 0).any() or (variance + epsilon <= 0).any():
            raise UserError(f"damaged: {name} has a variance below 0")
        scale = 1 / np.sqrt(variance + epsilon)
        if has[0]:
            scale *= tokens.numbers(name, channels)
        shift = -mean * scale
        if has[1]:
            shift += tokens.numbers(name, channels)
        with np.errstate(over="ignore"):  # what does not fit is refused at the end
            self._tensors[f"{name}.weight"] = scale.astype(np.float32)
            self._tensors[f"{name}.bias"] = shift.astype(np.float32)
        return self._function()

    def _function(self) -> str:
        self._tokens.word("the name of an activation")
        if self._version < 11:
            return "r"
        word = self._tokens.word("an activation")
        if word.removeprefix("ACTIVATION_") not in _LETTERS:
            raise unknown_name("activation of KataGo's nets", word, _LETTERS)
        return _LETTERS[word.removeprefix("ACTIVATION_")]

    def _rms(self, name: str, channels: int) -> None:
        self._tokens.word("the name of a norm")
        found = self._tokens.integer(f"{name}: channels", 1, _MAX_SIZE)
        self._same(f"{name}: channels", found, channels)
        self._epsilon(f"{name}.epsilon")
        self._tensors[f"{name}.scale"] = self._tokens.numbers(name, channels)

    def _epsilon(self, name: str) -> None:
        value = self._tokens.real(name)
        if value < 0:
            raise UserError(f"{name} is below 0")
        self._tensors[name] = np.array(value, np.float32)

    def _dense(self, name: str, inputs: int, outputs: int | None, *, has_bias: bool = False) -> int:
        """A MATMUL record, perhaps with a BIAS record behind it; returns the outputs."""
        tokens = self._tokens
        tokens.word("the name of a matrix")
        wide, units = (tokens.integer(f"{name}: {what}", 1, _MAX_SIZE) for what in ("in", "out"))
        self._same(f"{name}: inputs", wide, inputs)
        self._same(f"{name}: outputs", units, units if outputs is None else outputs)
        weight = tokens.numbers(name, wide * units).reshape(wide, units)
        self._tensors[f"{name}.weight"] = np.ascontiguousarray(weight.T)
        if has_bias:
            tokens.word("the name of a bias")
            self._same(name, tokens.integer(f"{name}: channels", 1, _MAX_SIZE), units)
            self._tensors[f"{name}.bias"] = tokens.numbers(f"{name}: bias", units)
        return units

    def _same(self, what: str, found: int, wanted: int) -> None:
        if found != wanted:
            raise UserError(f"damaged: {what} is {found}, not {wanted}")


_NAME_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def _fixed_rope(theta: float, shape: Sequence[int]) -> Floats:
    """The first half of the pairs turns with the row, the second with the column."""
    if theta <= 0:
        raise UserError("theta of a rope is not above 0")
    keys, pairs, _ = shape
    half = pairs // 2
    speed = theta ** (-2 * np.arange(half) / pairs)
    table = np.zeros((pairs, 2), np.float32)
    table[:half, 1] = table[half:, 0] = speed
    return np.broadcast_to(table, (keys, pairs, 2)).copy()
