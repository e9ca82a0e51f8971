"""Numbers of a layer and their encodings in a weights file."""

from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames_chess.lc0.wire import Message, bytes_field, integer_field, real_field

Floats = NDArray[np.float32]
Encoding = Literal["linear16", "float16", "bfloat16", "float32"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
"""Numbered from 1 in the file."""
_MIN, _MAX, _PARAMS, _ENCODING = 1, 2, 3, 4
_PIECE = 1 << 20


def count_numbers(message: Message, default: int = 1) -> int:
    """How many numbers a layer has, before any is decoded."""
    return len(message.raw(_PARAMS)) // _width(_encoding(message, default))


def _encoding(message: Message, default: int) -> Encoding:
    number = message.integer(_ENCODING, default) or default
    if not 1 <= number <= len(ENCODINGS):
        raise UserError(f"unknown encoding {number} of a layer")
    return ENCODINGS[number - 1]


def _width(encoding: Encoding) -> int:
    return 4 if encoding == "float32" else 2


def decode_layer(message: Message, default: int = 1, out: Floats | None = None) -> Floats:
    """The numbers of a layer, in the order of the file; empty if it has none.

    Args:
        message: The layer.
        default: The number of the encoding of layers that tell none.
        out: Where to write them, for as many numbers as it has; by default a new array.
    """
    raw = message.raw(_PARAMS)
    encoding = _encoding(message, default)
    width = _width(encoding)
    if len(raw) % width:
        raise UserError(f"damaged: {len(raw)} bytes are not {encoding} numbers")
    span = message.real(_MIN), message.real(_MAX)
    values = np.empty(len(raw) // width, np.float32) if out is None else out
    for first in range(0, len(values), _PIECE):  # large layers in pieces: what is between is wide
        part = raw[first * width : (first + _PIECE) * width]
        values[first : first + _PIECE] = _decode(part, encoding, span)
        if not np.isfinite(values[first : first + _PIECE]).all():
            raise UserError("damaged: a layer holds numbers that are not finite")
    return values


def _decode(raw: memoryview, encoding: Encoding, span: tuple[float, float]) -> Floats:
    if encoding == "linear16":
        low, high = np.float32(span[0]), np.float32(span[1])
        steps = np.frombuffer(raw, "<u2").astype(np.float64)
        return (low + (np.float64(high) - low) * steps / 65535).astype(np.float32)
    if encoding == "float16":
        return np.frombuffer(raw, "<f2").astype(np.float32)
    if encoding == "bfloat16":
        return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, "<f4").astype(np.float32)


def encode_layer(values: Floats, encoding: Encoding = "linear16") -> bytes:
    """A layer message; the number of the encoding is written unless it is the default."""
    flat = np.ascontiguousarray(values, np.float32).ravel()
    if encoding == "linear16":
        low, high, steps = _linear16(flat)
        return (
            real_field(_MIN, low)
            + real_field(_MAX, high)
            + bytes_field(_PARAMS, steps.astype("<u2").tobytes())
        )
    if encoding == "float16":
        if (np.abs(flat) > np.finfo(np.float16).max).any():
            raise UserError("a weight is too large for float16")
        raw = flat.astype("<f2").tobytes()
    elif encoding == "bfloat16":
        bits = flat.view(np.uint32)
        rounded = bits + 0x7FFF + (bits >> 16 & 1)  # to nearest, ties to even
        raw = (rounded >> 16).astype("<u2").tobytes()
    else:
        raw = flat.astype("<f4").tobytes()
    number = ENCODINGS.index(cast(Encoding, encoding)) + 1
    return bytes_field(_PARAMS, raw) + integer_field(_ENCODING, number)


def _linear16(flat: Floats) -> tuple[float, float, NDArray[np.float64]]:
    if flat.size == 1:
        high = float(flat[0]) or 1.0
        return 0.0, high, np.array([65535.0 if flat[0] else 0.0])
    low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 0.0)
    if low == high:
        return low, high, np.zeros(flat.size)
    return low, high, np.rint((flat.astype(np.float64) - low) / (high - low) * 65535)
