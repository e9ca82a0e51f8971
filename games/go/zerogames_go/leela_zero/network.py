"""The net that a file of Leela Zero holds, as arrays; needs no torch.

A file is text, gzip or plain, a line for each array: the version; four lines for each convolution
(weights, biases, means and variances of the batch norm), first the one of the input, then two for
each block; six lines of the policy and eight of the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path

from zerogames.errors import UserError
from zerogames_go.net_tokens import Floats, TokenReader, open_tokens

PLANES = 18
VERSIONS = (1, 2)
_POLICY_LINES, _VALUE_LINES = 6, 8
_MAX_LINES = 1 + 4 * (1 + 2 * 256) + _POLICY_LINES + _VALUE_LINES


@dataclass(frozen=True, kw_only=True, eq=False)
class Convolution:
    """A convolution `[out, in, size, size]`, row 0 at the bottom, with its batch norm."""

    weights: Floats
    biases: Floats
    means: Floats
    variances: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Dense:
    """A dense layer: weights `[out, in]`."""

    weights: Floats
    biases: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class LeelaZeroNet:
    """A net as its file holds it."""

    version: int
    """In version 2 the value is Black's, in 1 the side to move's."""
    board: int
    """Rows of the board."""
    stem: Convolution
    blocks: tuple[tuple[Convolution, Convolution], ...]
    policy: Convolution
    policy_dense: Dense
    value: Convolution
    value_hidden: Dense
    value_out: Dense

    @property
    def channels(self) -> int:
        """Channels of the trunk."""
        return len(self.stem.biases)


def read_leela_zero(path: str | Path) -> LeelaZeroNet:
    """Read a net; raise `UserError` that says what is wrong with it."""
    with open_tokens(Path(path)) as tokens:
        return parse_leela_zero(tokens)


def is_leela_zero(head: bytes) -> bool:
    """Whether the first bytes of a file, unpacked, are those of such a net.

    Nets of KataGo begin with words, one on a line.
    """
    lines = head.splitlines()[:2]
    version = lines[0].split() if lines else []
    return version in ([b"1"], [b"2"]) and len(lines) > 1 and len(lines[1].split()) > 1


def parse_leela_zero(tokens: TokenReader) -> LeelaZeroNet:
    """Read a whole net."""
    version = tokens.line_numbers("the version")
    if version.size != 1 or version[0] not in VERSIONS:
        raise UserError("not a net of Leela Zero: the first line is not its version, 1 or 2")
    lines: list[Floats] = []
    while not tokens.at_end():
        if len(lines) >= _MAX_LINES:
            raise UserError(f"it has more than {_MAX_LINES} lines")
        lines.append(tokens.line_numbers(f"line {len(lines) + 2}"))
    num_trunk = len(lines) - _POLICY_LINES - _VALUE_LINES
    if num_trunk < 12 or (num_trunk - 4) % 8:
        raise UserError(
            f"{len(lines) + 1} lines are not those of a whole net: 19 and 8 for each block"
        )
    channels = lines[1].size
    convs = [
        _conv(lines, at, channels, PLANES if at == 0 else channels, size=3)
        for at in range(0, num_trunk, 4)
    ]
    policy, value = num_trunk, num_trunk + _POLICY_LINES
    actions = lines[policy + 5].size
    board = isqrt(max(0, actions - 1))
    if board**2 != actions - 1 or not 2 <= board <= 25:
        raise UserError(f"a policy of {actions} moves is that of no square board and a pass")
    hidden = lines[value + 5].size
    return LeelaZeroNet(
        version=int(version[0]),
        board=board,
        stem=convs[0],
        blocks=tuple(zip(convs[1::2], convs[2::2], strict=True)),
        policy=_conv(lines, policy, 2, channels, size=1),
        policy_dense=_dense(lines, policy + 4, actions, 2 * board**2),
        value=_conv(lines, value, 1, channels, size=1),
        value_hidden=_dense(lines, value + 4, hidden, board**2),
        value_out=_dense(lines, value + 6, 1, hidden),
    )


def _conv(lines: Sequence[Floats], at: int, outputs: int, inputs: int, *, size: int) -> Convolution:
    weights = _array(lines, at, (outputs, inputs, size, size))
    biases, means, variances = (_array(lines, at + i, (outputs,)) for i in (1, 2, 3))
    if (variances < 0).any():
        raise UserError(f"damaged: line {at + 5} has a variance below 0")
    return Convolution(weights=weights, biases=biases, means=means, variances=variances)


def _dense(lines: Sequence[Floats], at: int, outputs: int, inputs: int) -> Dense:
    weights, biases = _array(lines, at, (outputs, inputs)), _array(lines, at + 1, (outputs,))
    return Dense(weights=weights, biases=biases)


def _array(lines: Sequence[Floats], at: int, shape: tuple[int, ...]) -> Floats:
    wanted = 1
    for length in shape:
        wanted *= length
    if lines[at].size != wanted or wanted == 0:
        raise UserError(f"line {at + 2} has {lines[at].size} numbers, not {wanted}")
    return lines[at].reshape(shape)
