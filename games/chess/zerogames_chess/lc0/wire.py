"""The wire form of Protocol Buffers, as much as weight files need."""

import struct
from collections.abc import Iterator

from zerogames.errors import UserError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MAX_FIELDS = 100_000


class Message:
    """The fields of a message by number, in order; wrong wire types read as absent mistakes."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._fields: dict[int, list[tuple[int, int | memoryview]]] = {}
        for count, (number, kind, value) in enumerate(_fields(memoryview(data))):
            if count > _MAX_FIELDS:
                raise UserError("damaged: too many fields in one message")
            self._fields.setdefault(number, []).append((kind, value))

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def numbers(self) -> list[int]:
        """The fields that are present."""
        return sorted(self._fields)

    def integer(self, number: int, default: int = 0) -> int:
        """The last value of a varint or fixed32 field."""
        for kind, value in reversed(self._fields.get(number, [])):
            if kind in (VARINT, FIXED32) and isinstance(value, int):
                return value
            raise UserError(f"damaged: field {number} is not a number")
        return default

    def real(self, number: int, default: float = 0.0) -> float:
        """The last value of a float field."""
        if number not in self._fields:
            return default
        kind, value = self._fields[number][-1]
        if kind != FIXED32 or not isinstance(value, int):
            raise UserError(f"damaged: field {number} is not a float")
        return float(struct.unpack("<f", struct.pack("<I", value))[0])

    def raw(self, number: int) -> memoryview:
        """The bytes of a field; empty if it is absent."""
        values = self._all_raw(number)
        return values[-1] if values else memoryview(b"")

    def message(self, number: int) -> "Message":
        """A message inside; an empty one if it is absent."""
        return Message(self.raw(number))

    def messages(self, number: int) -> list["Message"]:
        """All messages of a repeated field."""
        return [Message(raw) for raw in self._all_raw(number)]

    def text(self, number: int) -> str:
        """A string field."""
        return bytes(self.raw(number)).decode("utf-8", errors="replace")

    def _all_raw(self, number: int) -> list[memoryview]:
        values = []
        for kind, value in self._fields.get(number, []):
            if kind != BYTES or not isinstance(value, memoryview):
                raise UserError(f"damaged: field {number} is not a message")
            values.append(value)
        return values


def _fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise UserError("damaged: a field has the number 0")
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
        else:
            raise UserError(f"damaged: unknown wire type {kind}")
        if size > len(data) - at:
            raise UserError("truncated: a field goes beyond the end")
        part = data[at : at + size]
        at += size
        yield number, kind, part if kind == BYTES else int.from_bytes(part, "little")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise UserError("truncated: it ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise UserError("damaged: a number has more than 64 bits")


def varint(value: int) -> bytes:
    """Encode a number that is not negative."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer_field(number: int, value: int) -> bytes:
    """A varint field."""
    return varint(number << 3 | VARINT) + varint(value)


def fixed32_field(number: int, value: int) -> bytes:
    """A fixed32 field."""
    return varint(number << 3 | FIXED32) + struct.pack("<I", value)


def real_field(number: int, value: float) -> bytes:
    """A float field."""
    return varint(number << 3 | FIXED32) + struct.pack("<f", value)


def bytes_field(number: int, value: bytes) -> bytes:
    """A string, bytes or message field."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value
