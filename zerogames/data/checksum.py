"""CRC-32 of a text that is known in parts: checksums of parts give that of the whole."""

import zlib
from typing import NamedTuple, Self

_POLYNOMIAL = 0xEDB88320
"""CRC-32's, the highest power in the lowest bit, as zlib has it."""
_ONE = 1 << 31
_X = 1 << 30


class Checksum(NamedTuple):
    """The CRC-32 of some bytes, and their number."""

    crc: int = 0
    size: int = 0

    def followed_by(self, data: bytes) -> Self:
        """The checksum of these bytes and `data` after them."""
        return type(self)(zlib.crc32(data, self.crc), self.size + len(data))

    def joined(self, other: Self) -> Self:
        """The checksum of these bytes and those of `other` after them."""
        # n more bytes multiply the remainder by x^(8n); what a CRC adds at both ends cancels.
        crc = _multiply(_power(_X, 8 * other.size), self.crc) ^ other.crc
        return type(self)(crc, self.size + other.size)


def _multiply(a: int, b: int) -> int:
    """The product of two polynomials over GF(2), modulo CRC-32's."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def _power(base: int, exponent: int) -> int:
    result = _ONE
    while exponent:
        if exponent & 1:
            result = _multiply(result, base)
        base = _multiply(base, base)
        exponent >>= 1
    return result
