"""A journal: a file to which entries are appended, each with its length and checksums.

- What `append` has returned for is on disk, whatever happens to the process afterwards.
- A process that dies while it appends leaves a torn end. No such entry was promised to anybody:
  `read_journal` cuts it off.
- Every entry begins with a mark of its own, so that a damaged one costs only itself.
"""

import contextlib
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zerogames.atomic import sync

_MARK = b"\x89zgj\r\n\x1a\x01"
"""The last byte is the version of the format."""
_HEADER = struct.Struct("<8sQI")
"""Mark, length and CRC-32 of the content; a CRC-32 of these follows."""
_HEADER_CRC = struct.Struct("<I")
_HEADER_SIZE = _HEADER.size + _HEADER_CRC.size


class Journal:
    """Appends entries to a file, which is made with the first one. One writer at a time."""

    def __init__(self, path: Path) -> None:
        """Name a file that does not exist yet."""
        self.path = path
        self._file: int | None = None
        self._size = 0
        """Bytes of whole entries that are on disk."""
        self._is_torn = False
        """Whether an append failed, so that there may be more bytes."""

    def append(self, contents: Sequence[bytes]) -> None:
        """Return when the entries are on disk; after an error none of them is in the file."""
        data = b"".join(map(pack_entry, contents))
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            self._is_torn = True  # Until the folder's entry is on disk too.
        is_new = self._size == 0
        if self._is_torn:
            os.ftruncate(self._file, self._size)
        self._is_torn = True
        try:
            _write(self._file, data, self._size)
            os.fsync(self._file)
            if is_new:
                sync(self.path.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)
        self._is_torn = False

    def remove(self) -> None:
        """Remove the file: its entries are kept elsewhere now."""
        if self._file is not None:
            self.close()
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file, which stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def pack_entry(content: bytes) -> bytes:
    """An entry as it stands in the file."""
    header = _HEADER.pack(_MARK, len(content), zlib.crc32(content))
    return header + _HEADER_CRC.pack(zlib.crc32(header)) + content


@dataclass(frozen=True, kw_only=True)
class JournalContents:
    """What a journal holds."""

    entries: Sequence[bytes]
    """Contents of the whole entries."""
    num_damaged: int
    """Places where something else stands than a whole entry."""
    torn_bytes: int
    """Bytes of a last entry that was not written to its end."""


def read_journal(path: Path) -> JournalContents:
    """All whole entries of a journal, in their order; the file stays as it is."""
    data = path.read_bytes()
    entries: list[bytes] = []
    damaged = at = 0
    while (start := _next_entry(data, at)) is not None:
        damaged += start > at
        size = _HEADER.unpack_from(data, start)[1]
        at = start + _HEADER_SIZE + size
        entries.append(data[at - size : at])
    rest = len(data) - at
    is_torn = _is_torn(data[at:])
    return JournalContents(
        entries=entries,
        num_damaged=damaged + (rest > 0 and not is_torn),
        torn_bytes=rest if is_torn else 0,
    )


def _next_entry(data: bytes, at: int) -> int | None:
    """Where the first whole entry from `at` on begins."""
    while (at := data.find(_MARK, at)) >= 0:
        if _is_entry(data, at):
            return at
        at += 1
    return None


def _is_entry(data: bytes, at: int) -> bool:
    size = _content_size(data[at : at + _HEADER_SIZE])
    if size is None:
        return False
    start = at + _HEADER_SIZE
    content = memoryview(data)[start : start + size]
    return len(content) == size and zlib.crc32(content) == _HEADER.unpack_from(data, at)[2]


def _content_size(header: bytes) -> int | None:
    """The size that a whole header names."""
    if len(header) < _HEADER_SIZE:
        return None
    (crc,) = _HEADER_CRC.unpack_from(header, _HEADER.size)
    return (
        int(_HEADER.unpack_from(header)[1]) if zlib.crc32(header[: _HEADER.size]) == crc else None
    )


def _is_torn(rest: bytes) -> bool:
    """Whether this is the beginning of an entry, and shorter than it."""
    if len(rest) < _HEADER_SIZE:
        return rest[: len(_MARK)] == _MARK[: len(rest)]
    size = _content_size(rest[:_HEADER_SIZE])
    return size is not None and rest.startswith(_MARK) and len(rest) < _HEADER_SIZE + size


def _write(file: int, data: bytes, at: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file, rest, at)
        rest, at = rest[written:], at + written
