"""The message `Net` of a weights file: its frame, and residual nets as arrays."""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from zerogames.atomic import write_bytes_atomically
from zerogames.data.files import DataFile
from zerogames.errors import UserError
from zerogames_chess.lc0.layer import Encoding, Floats, decode_layer, encode_layer
from zerogames_chess.lc0.wire import (
    Message,
    bytes_field,
    fixed32_field,
    integer_field,
)

MAGIC = 0x1C0
INPUTS = {
    1: "classic 112 planes",
    2: "castling planes",
    3: "canonical",
    4: "canonical hectoplies",
    5: "canonical v2",
    132: "canonical hectoplies, armageddon",
    133: "canonical v2, armageddon",
}
NETWORKS = {
    1: "classical residual",
    2: "SE-residual",
    3: "classical residual with head format",
    4: "SE-residual with head format",
    5: "ONNX",
    6: "attention body",
    7: "attention body, multihead",
    134: "attention body, multihead",
}
POLICIES = {1: "classical", 2: "conv", 3: "attention"}
VALUES = {1: "scalar", 2: "wdl", 3: "param"}
ACTIVATIONS = {0: "relu", 1: "mish"}
_START = bytes([0x0D]) + MAGIC.to_bytes(4, "little")
"""The magic number as the first field, as every writer has it."""
_MAX_BYTES = 1 << 31
_FIRST_ATTENTION_FIELD = 17
_ATTENTION_POLICY_FIELDS = (17, 18, 19, 20, 21, 22, 24)
Parsed = TypeVar("Parsed")


@dataclass(frozen=True, kw_only=True, eq=False)
class ConvBlock:
    """A convolution `[out * in * size * size]` with a batch norm or plain biases."""

    weights: Floats
    biases: Floats
    means: Floats
    variances: Floats
    gammas: Floats
    betas: Floats

    @property
    def channels(self) -> int:
        """Output channels."""
        return max(len(self.means), len(self.biases), len(self.betas))


@dataclass(frozen=True, kw_only=True, eq=False)
class Residual:
    """A residual block; `excitation` holds w1, b1, w2, b2 if the net has squeeze-excitation."""

    conv1: ConvBlock
    conv2: ConvBlock
    excitation: tuple[Floats, Floats, Floats, Floats] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseHead:
    """A convolution and dense layers: weights and biases in turn."""

    conv: ConvBlock
    dense: Sequence[Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class Lc0Net:
    """A residual net as its file holds it."""

    policy_kind: str
    value_kind: str
    activation: str = "relu"
    stem: ConvBlock
    blocks: Sequence[Residual]
    policy: DenseHead | None
    """Classical: convolution, dense; `conv`: the last convolution and no dense layer; `attention`:
    None."""
    policy1: ConvBlock | None = None
    """The first convolution of a `conv` policy."""
    attention: bytes | memoryview = b""
    """The weights' fields, among them those of an `attention` policy."""
    default_encoding: int = 1
    """Of the layers in `attention`."""
    value: DenseHead
    moves_left: DenseHead | None = None
    licence: str = ""
    training_steps: int = 0
    min_version: tuple[int, int, int] = field(default=(0, 21, 0))


def read_lc0(path: str | Path) -> Lc0Net:
    """Read a residual net; raise `UserError` that names what it cannot be read for."""
    return read_message(path, parse_net)


def read_message(path: str | Path, parse: Callable[[Message], Parsed]) -> Parsed:
    """Read a `.pb.gz` or `.pb` file; a `UserError` of `parse` gets its name."""
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a net file")
    if not path.is_file():
        raise UserError(f"there is no net file {path}")
    file = DataFile(str(path), path.stat().st_size, lambda: path.open("rb"))
    data = file.read(_MAX_BYTES)
    try:
        return parse(Message(data))
    except UserError as error:
        reason = error if data.startswith(_START) else "not an Lc0 weights file"
        raise UserError(f"{path}: {reason}") from None


def check_frame(net: Message) -> None:
    """Raise `UserError` unless the message holds the weights of a net."""
    if net.integer(1) != MAGIC:
        raise UserError("not an Lc0 weights file: its magic number is missing")
    if 11 in net:
        raise UserError("an ONNX model inside an Lc0 file is not a residual net; cannot be read")


def parse_net(net: Message) -> Lc0Net:
    """Read a residual net; raise `UserError` for other architectures and damage."""
    check_frame(net)
    form = net.message(4)
    network = form.message(2)
    body = network.integer(3, 3)
    heads_given = body not in (1, 2)
    if body not in (1, 2, 3, 4):
        raise UserError(f"architecture '{NETWORKS.get(body, body)}' is not a residual net")
    inputs = network.integer(1, 1)
    if inputs != 1:
        raise UserError(f"input format '{INPUTS.get(inputs, inputs)}'; only classic is supported")
    policy = POLICIES.get(network.integer(4, 1) if heads_given else 1, "unknown")
    value = VALUES.get(network.integer(5, 1) if heads_given else 1, "unknown")
    activation = ACTIVATIONS.get(network.integer(7), "unknown")
    for kind, name in (("policy", policy), ("value", value), ("activation", activation)):
        if name in ("param", "unknown"):
            raise UserError(f"{kind} '{name}' is not supported")
    weights = net.message(10)
    is_attention = policy == "attention"
    known = _ATTENTION_POLICY_FIELDS if is_attention else ()
    extra = [n for n in weights.numbers() if n >= _FIRST_ATTENTION_FIELD and n not in known]
    if extra:
        raise UserError(f"weights field {extra[0]} belongs to an attention net")
    default = form.integer(1, 1) or 1

    def layers(numbers: Sequence[int]) -> list[Floats]:
        return [decode_layer(weights.message(number), default) for number in numbers]

    version = net.message(3)
    stem, blocks = read_tower(weights, default)
    return Lc0Net(
        policy_kind=policy,
        value_kind=value,
        activation=activation,
        stem=stem,
        blocks=blocks,
        policy=None
        if is_attention
        else DenseHead(
            conv=_conv(weights.message(3), default),
            dense=layers((4, 5)) if policy == "classical" else (),
        ),
        attention=net.raw(10) if is_attention else b"",
        default_encoding=default,
        policy1=_conv(weights.message(11), default) if policy == "conv" else None,
        value=DenseHead(conv=_conv(weights.message(6), default), dense=layers((7, 8, 9, 10))),
        moves_left=DenseHead(
            conv=_conv(weights.message(12), default), dense=layers((13, 14, 15, 16))
        )
        if network.integer(6)
        else None,
        licence=net.text(2),
        training_steps=net.message(5).integer(1),
        min_version=(version.integer(1), version.integer(2), version.integer(3)),
    )


def read_tower(weights: Message, default: int) -> tuple[ConvBlock, Sequence[Residual]]:
    """The input block and the residual blocks."""
    blocks = [_residual(block, default) for block in weights.messages(2)]
    return _conv(weights.message(1), default), blocks


def _conv(block: Message, default: int) -> ConvBlock:
    layers = [decode_layer(block.message(number), default) for number in range(1, 7)]
    weights, biases, means, variances, gammas, betas = layers
    if len(weights) == 0:
        raise UserError("damaged: a convolution has no weights")
    conv = ConvBlock(
        weights=weights,
        biases=biases,
        means=means,
        variances=variances,
        gammas=gammas,
        betas=betas,
    )
    for part in (biases, means, variances, gammas, betas):
        if len(part) not in (0, conv.channels):
            raise UserError("damaged: the parts of a convolution have different sizes")
    if len(means) != len(variances):
        raise UserError("damaged: a batch norm has means without variances")
    return conv


def _residual(block: Message, default: int) -> Residual:
    excitation = None
    if 3 in block:
        unit = block.message(3)
        parts = [decode_layer(unit.message(number), default) for number in range(1, 5)]
        excitation = cast(tuple[Floats, Floats, Floats, Floats], tuple(parts))
    return Residual(
        conv1=_conv(block.message(1), default),
        conv2=_conv(block.message(2), default),
        excitation=excitation,
    )


def write_lc0(net: Lc0Net, path: str | Path, *, encoding: Encoding = "linear16") -> None:
    """Write a `.pb.gz` file, atomically."""
    write_packed(format_net(net, encoding), path)


def write_packed(content: bytes, path: str | Path) -> None:
    """Write a message to a `.pb.gz` or `.pb` file, atomically."""
    packed = str(path).endswith(".gz")
    data = gzip.compress(content, compresslevel=6, mtime=0) if packed else content
    write_bytes_atomically(Path(path), data)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What a file says of itself around the weights."""

    licence: str
    training_steps: int
    min_version: tuple[int, int, int]
    """Of the engine."""

    def format(self, network: bytes, weights: bytes) -> bytes:
        """The message, not yet packed."""
        version = b"".join(integer_field(i + 1, part) for i, part in enumerate(self.min_version))
        return b"".join(
            (
                fixed32_field(1, MAGIC),
                bytes_field(2, self.licence.encode()),
                bytes_field(3, version),
                bytes_field(4, integer_field(1, 1) + bytes_field(2, network)),
                bytes_field(5, integer_field(1, self.training_steps)),
                bytes_field(10, weights),
            )
        )


def format_net(net: Lc0Net, encoding: Encoding) -> bytes:
    """The message, not yet packed."""

    def number_of(names: dict[int, str], name: str) -> int:
        return next(number for number, known in names.items() if known == name)

    mish, is_attention = net.activation == "mish", net.policy_kind == "attention"
    version = max(net.min_version, (0, 29, 0) if mish or is_attention else (0, 21, 0))
    has_excitation = is_attention or any(block.excitation for block in net.blocks)
    network = (
        integer_field(1, 1)
        + integer_field(2, 2 if net.value_kind == "wdl" else 1)
        + integer_field(3, 4 if has_excitation else 3)
        + integer_field(4, number_of(POLICIES, net.policy_kind))
        + integer_field(5, number_of(VALUES, net.value_kind))
        + integer_field(6, int(net.moves_left is not None))
        + (integer_field(7, 1) if mish else b"")
    )
    frame = Frame(licence=net.licence, training_steps=net.training_steps, min_version=version)
    return frame.format(network, _format_weights(net, encoding))


def _format_weights(net: Lc0Net, encoding: Encoding) -> bytes:
    def layer(number: int, values: Floats) -> bytes:
        return bytes_field(number, encode_layer(values, encoding))

    def conv(number: int, block: ConvBlock) -> bytes:
        parts = (
            block.weights,
            block.biases,
            block.means,
            block.variances,
            block.gammas,
            block.betas,
        )
        return bytes_field(
            number, b"".join(layer(i, part) for i, part in enumerate(parts, 1) if len(part))
        )

    def head(first: int, dense: Sequence[Floats]) -> bytes:
        return b"".join(layer(first + i, part) for i, part in enumerate(dense))

    parts = [conv(1, net.stem)]
    for block in net.blocks:
        data = conv(1, block.conv1) + conv(2, block.conv2)
        if block.excitation is not None:
            data += bytes_field(3, head(1, block.excitation))
        parts.append(bytes_field(2, data))
    if net.policy1 is not None:
        parts.append(conv(11, net.policy1))
    if net.policy is not None:
        parts += [conv(3, net.policy.conv), head(4, net.policy.dense)]
    parts.append(bytes(net.attention))
    parts += [conv(6, net.value.conv), head(7, net.value.dense)]
    if net.moves_left is not None:
        parts += [conv(12, net.moves_left.conv), head(13, net.moves_left.dense)]
    return b"".join(parts)


def plain_conv(weights: Floats, biases: Floats) -> ConvBlock:
    """A convolution without batch norm."""
    none = np.empty(0, np.float32)
    return ConvBlock(
        weights=weights, biases=biases, means=none, variances=none, gammas=none, betas=none
    )
