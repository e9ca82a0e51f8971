"""The stream of words and arrays of numbers that a net file of KataGo or Leela Zero is."""

import math
import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from zerogames.data.files import MAX_RATIO, SMALL_BYTES, DataFile
from zerogames.errors import UserError

Floats = NDArray[np.float32]

MAX_BYTES = 1 << 31
"""A file that unpacks to more is refused."""
_MARK = b"@BIN@"
_MAX_BLANKS = 100
"""Whitespace before the mark of an array."""
_MAX_WORD = 256
_MAX_LINE = 1 << 26
_PIECE = 1 << 18
_SPACE = b" \t\r\n\v\f"
_NUMBER_BYTES = b"0123456789+-.eE" + _SPACE
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class TokenReader:
    """Reads words and numbers in order; memory grows only with what was really in the file."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._taken = 0
        self._buffer = b""
        self._at = 0
        self._binary: bool | None = None

    def word(self, what: str) -> str:
        """The next word."""
        self._skip_space()
        end = self._word_end()
        while end is None:
            if len(self._buffer) - self._at > _MAX_WORD:
                raise UserError(f"damaged: no word where {what} should be")
            end = self._word_end() if self._fill() else len(self._buffer)
        word = self._buffer[self._at : end]
        self._at = end
        if not word:
            raise UserError(f"truncated: it ends before {what}")
        if len(word) > _MAX_WORD or not word.isascii() or not word.decode().isprintable():
            raise UserError(f"damaged: no word where {what} should be")
        return word.decode()

    def integer(self, what: str, low: int, high: int) -> int:
        """The next word as a whole number from `low` to `high`."""
        word = self.word(what)
        if not re.fullmatch(r"-?\d{1,9}", word, re.ASCII) or not low <= int(word) <= high:
            raise UserError(f"{what} is '{word[:40]}', not a number from {low} to {high}")
        return int(word)

    def real(self, what: str) -> float:
        """The next word as a finite number."""
        word = self.word(what)
        if not _NUMBER.fullmatch(word.encode()) or not math.isfinite(float(word)):
            raise UserError(f"{what} is '{word[:40]}', not a number")
        return float(word)

    def zeros(self, what: str, count: int) -> None:
        """Fields that are not used yet."""
        for _ in range(count):
            if self.integer(f"a reserved field of {what}", -(10**8), 10**8):
                raise UserError(f"a reserved field of {what} is not 0: a newer kind of net")

    def numbers(self, what: str, count: int) -> Floats:
        """An array, in the form of the file: text, or binary behind `@BIN@`."""
        blanks = self._skip_space()
        while len(self._buffer) - self._at < len(_MARK) and self._fill():
            pass
        marked = self._buffer.startswith(_MARK, self._at)
        if self._binary is None:
            self._binary = marked
        if self._binary != marked or (marked and blanks > _MAX_BLANKS):
            raise UserError(f"damaged: the numbers of {what} do not begin where they should")
        values = self._binary_numbers(what, count) if marked else self.text_numbers(what, count)
        if not np.isfinite(values).all():
            raise UserError(f"damaged: {what} holds numbers that are not finite")
        return values

    def text_numbers(self, what: str, count: int) -> Floats:
        """The next words as numbers."""
        parts: list[Floats] = []
        missing = count
        while missing:
            self._skip_space()
            block = self._whole_words()
            if not block:
                raise UserError(f"truncated: it ends inside {what}")
            words = block.split(None, missing)
            if len(words) > missing:  # the last one is all that follows
                block = block[: len(block) - len(words.pop())]
            parts.append(parse_numbers(what, block, len(words)))
            self._at += len(block)
            missing -= len(words)
        return np.concatenate(parts) if parts else np.empty(0, np.float32)

    def line(self, what: str) -> bytes:
        """The next line."""
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            if len(self._buffer) - self._at > _MAX_LINE:
                raise UserError(f"damaged: {what} is longer than {_MAX_LINE} bytes")
            if not self._fill():
                end = len(self._buffer)
                break
        if self._at >= len(self._buffer):
            raise UserError(f"truncated: it ends before {what}")
        line = self._buffer[self._at : end]
        self._at = end + 1
        return line

    def line_numbers(self, what: str) -> Floats:
        """The next line as numbers."""
        line = self.line(what)
        return parse_numbers(what, line, len(line.split()))

    def at_end(self) -> bool:
        """Whether only whitespace is left."""
        self._skip_space()
        return self._at >= len(self._buffer)

    def end(self) -> None:
        """Check that only whitespace is left."""
        if not self.at_end():
            raise UserError("damaged: there is more behind the net")

    def _binary_numbers(self, what: str, count: int) -> Floats:
        self._at += len(_MARK)
        data = self._take(4 * count)
        if len(data) < 4 * count:
            raise UserError(f"truncated: it ends inside {what}")
        return np.frombuffer(data, "<f4").astype(np.float32)

    def _take(self, count: int) -> bytes:
        parts = []
        while count:
            part = self._buffer[self._at : self._at + count]
            self._at += len(part)
            count -= len(part)
            parts.append(part)
            if count and not self._fill():
                break
        return b"".join(parts)

    def _whole_words(self) -> bytes:
        """What is at hand up to the last whitespace, or to the end of the file."""
        while True:
            end = max(self._buffer.rfind(bytes([blank]), self._at) for blank in _SPACE)
            if end >= self._at:
                return self._buffer[self._at : end + 1]
            if len(self._buffer) - self._at > _MAX_WORD:
                raise UserError("damaged: a word is too long for a number")
            if not self._fill():
                return self._buffer[self._at :]

    def _skip_space(self) -> int:
        skipped = 0
        while True:
            rest = self._buffer[self._at : self._at + _PIECE]
            blanks = len(rest) - len(rest.lstrip(_SPACE))
            self._at += blanks
            skipped += blanks
            if self._at < len(self._buffer) or not self._fill():
                return skipped

    def _word_end(self) -> int | None:
        found = re.compile(rb"\s").search(self._buffer, self._at, self._at + _MAX_WORD + 2)
        return found.start() if found else None

    def _fill(self) -> bool:
        """Read the next piece of the file; False at its end."""
        try:
            piece = self._stream.read(_PIECE)
        except (EOFError, zlib.error, OSError) as error:
            reason = "truncated" if isinstance(error, EOFError) else "damaged"
            raise UserError(f"{reason} gzip ({error})") from None
        self._taken += len(piece)
        if self._taken > self._limit:
            raise UserError(f"it unpacks to more than {self._limit} bytes")
        self._buffer = self._buffer[self._at :] + piece
        self._at = 0
        return bool(piece)


def parse_numbers(what: str, text: bytes, count: int) -> Floats:
    """Text as so many finite numbers."""
    values = np.empty(0)
    if count and not text.translate(None, _NUMBER_BYTES):
        with warnings.catch_warnings(), suppress(ValueError, DeprecationWarning):
            warnings.simplefilter("error", DeprecationWarning)
            values = np.fromstring(text, sep=" ")
    if values.size != count:
        raise UserError(f"damaged: {what} holds something that is not a number")
    if not (np.abs(values) <= np.finfo(np.float32).max).all():
        raise UserError(f"damaged: {what} holds numbers that are not finite")
    return values.astype(np.float32)


@contextmanager
def open_tokens(path: Path) -> Iterator[TokenReader]:
    """The tokens of a file, gzip or plain; what is wrong with it is said with its name."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a net file")
    if not path.is_file():
        raise UserError(f"there is no net file {path}")
    try:
        file = DataFile.of_path(path)
        limit = min(MAX_BYTES, max(SMALL_BYTES, MAX_RATIO * file.size))
        with file.stream() as stream:
            yield TokenReader(stream, limit)
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
