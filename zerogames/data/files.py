"""Finding data files in folders and archives, and opening them, packed or not, with limits.

A name is a path, or `archive!member`. Nothing is ever extracted to disk, members that are no plain
files are passed over, and what unpacks to too much is refused.
"""

import contextlib
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self, cast

from zerogames.data.problems import Problems
from zerogames.errors import UserError

MAX_WHOLE_BYTES = 1 << 28
"""A file that is read at once may unpack to this much."""
MAX_RATIO = 200
"""A file of gzip may unpack to this many times its size, beyond `SMALL_BYTES`: real games and
weights stay below 20, a bomb reaches 1,000."""
SMALL_BYTES = 1 << 24
MAX_MEMBERS = 10_000_000
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_HEAD_BYTES = 4096
_ZIP_MAGIC = b"PK\x03\x04"
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,  # an offset before the file's start; bz2 says so of its data
    OverflowError,
    RuntimeError,  # encrypted; NotImplementedError is one: an unknown method
    ValueError,
    struct.error,
    IndexError,
)
"""What zipfile raises for damaged archives; its documentation names the first."""


@dataclass(frozen=True)
class DataFile:
    """A file or a member of an archive; may be opened often and from any thread."""

    name: str
    size: int
    """Bytes as stored."""
    open_raw: Callable[[], IO[bytes]]

    def head(self, count: int = _HEAD_BYTES) -> bytes:
        """The first bytes, unpacked from gzip or Zstandard; fewer if it is damaged."""
        with self.open_raw() as stream:
            raw = stream.read(max(count, _HEAD_BYTES))
        if raw.startswith(_ZSTD_MAGIC):
            # A block unpacks as a whole, so that the first bytes alone may give nothing.
            with self.stream() as unpacked, contextlib.suppress(OSError):
                return unpacked.read(count)
            return b""
        if not raw.startswith(_GZIP_MAGIC):
            return raw[:count]
        try:
            return zlib.decompressobj(31).decompress(raw, count)
        except zlib.error:
            return b""

    def read(self, limit: int = MAX_WHOLE_BYTES) -> bytes:
        """All bytes, unpacked; raise `UserError` if they are damaged or more than `limit`."""
        if self.size > limit:
            raise UserError(f"{self.name}: {self.size} bytes; at most {limit} are read at once")
        with self.open_raw() as stream:
            raw = stream.read(limit + 1)
        if raw.startswith(_ZSTD_MAGIC):
            return self._read_zstd(min(limit, max(SMALL_BYTES, MAX_RATIO * len(raw))))
        if not raw.startswith(_GZIP_MAGIC):
            return raw
        return _gunzip(self.name, raw, limit)

    def _read_zstd(self, limit: int) -> bytes:
        try:
            with self.stream() as stream:
                data = stream.read(limit + 1)
        except OSError as error:
            raise UserError(f"{self.name}: damaged Zstandard file ({error})") from None
        if len(data) > limit:
            raise UserError(f"{self.name}: unpacks to more than {limit} bytes")
        return data

    def stream(self) -> IO[bytes]:
        """The bytes, unpacked, for reading piece by piece."""
        raw = self.open_raw()
        start = raw.read(4)
        raw.seek(0)
        if start.startswith(_GZIP_MAGIC):
            return cast(IO[bytes], _Gunzip(raw))
        if start == _ZSTD_MAGIC:
            import pyarrow as pa

            return cast(IO[bytes], pa.CompressedInputStream(raw, "zstd"))
        return raw

    @classmethod
    def of_path(cls, path: Path) -> Self:
        """A file on disk."""
        return cls(str(path), path.stat().st_size, lambda: path.open("rb"))


class _Gunzip(gzip.GzipFile):
    """Closes the file it reads from."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self._raw = raw

    def close(self) -> None:
        super().close()
        self._raw.close()


def _gunzip(name: str, raw: bytes, limit: int) -> bytes:
    """All members of a gzip file; `limit` holds before memory is taken."""
    limit = min(limit, max(SMALL_BYTES, MAX_RATIO * len(raw)))
    parts: list[bytes] = []
    total = 0
    while raw:
        inflater = zlib.decompressobj(31)
        try:
            part = inflater.decompress(raw, limit - total + 1)
        except zlib.error as error:
            raise UserError(f"{name}: damaged gzip ({error})") from None
        total += len(part)
        if total > limit:
            raise UserError(f"{name}: unpacks to more than {limit} bytes")
        if not inflater.eof:
            raise UserError(f"{name}: truncated gzip")
        parts.append(part)
        raw = inflater.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def find_paths(path: Path) -> list[Path]:
    """All files below a folder by name, or the file itself; hidden ones are passed over."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserError(f"{path}: there is no such file or folder")
    return [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]


def open_path(path: Path, problems: Problems) -> Iterator[DataFile]:
    """The file, or the members of the archive it is."""
    try:
        file = DataFile.of_path(path)
        start = file.head(512)
        with path.open("rb") as raw:
            is_zip = raw.read(4) == _ZIP_MAGIC
    except OSError as error:
        problems.add(str(path), f"cannot be read ({error.strerror})")
        return
    if len(start) >= 265 and start[257:262] == b"ustar":
        yield from _tar_members(file, problems)
    elif is_zip:
        yield from _zip_members(path, problems)
    else:
        yield file


def _tar_members(file: DataFile, problems: Problems) -> Iterator[DataFile]:
    """The plain files of a tar; one that is packed as a whole is read as it streams by."""
    with file.open_raw() as raw:
        packed = raw.read(2) == _GZIP_MAGIC
    try:
        with file.stream() as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if not member.isfile():
                    continue
                name = f"{file.name}!{member.name}"
                if packed:
                    yield _held_member(name, member, tar)
                else:
                    yield DataFile(name, member.size, _slice_opener(file, member))
            if not packed:
                _check_end(file, tar.offset)
    # OverflowError: an offset beyond what the system can seek to.
    except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError, OverflowError) as error:
        problems.add(file.name, f"damaged tar ({error})")


def _check_end(file: DataFile, offset: int) -> None:
    """What follows the last member must be nothing or zeros; tarfile takes anything for the end."""
    with file.open_raw() as stream:
        stream.seek(offset)
        if stream.read(512).strip(b"\0"):
            raise tarfile.ReadError(f"no member at byte {offset}")
    if offset > file.size:
        raise tarfile.ReadError("truncated")


def _held_member(name: str, member: tarfile.TarInfo, tar: tarfile.TarFile) -> DataFile:
    if member.size > MAX_WHOLE_BYTES:
        raise UserError(f"{name}: {member.size} bytes inside a packed tar; unpack it first")
    stream = tar.extractfile(member)
    data = stream.read() if stream is not None else b""
    return DataFile(name, len(data), lambda: io.BytesIO(data))


def _slice_opener(file: DataFile, member: tarfile.TarInfo) -> Callable[[], IO[bytes]]:
    def open_slice() -> IO[bytes]:
        with file.open_raw() as stream:
            try:
                stream.seek(member.offset_data)
            except (OSError, OverflowError, ValueError) as error:
                raise UserError(f"{file.name}!{member.name}: damaged tar ({error})") from None
            data = stream.read(min(member.size, MAX_WHOLE_BYTES + 1))
        return io.BytesIO(data)

    return open_slice


def _zip_members(path: Path, problems: Problems) -> Iterator[DataFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist()[:MAX_MEMBERS] if not info.is_dir()]
    except _ZIP_ERRORS as error:
        problems.add(str(path), f"damaged zip ({error})")
        return
    for info in infos:
        yield DataFile(f"{path}!{info.filename}", info.file_size, _zip_opener(path, info))


def _zip_opener(path: Path, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    def open_member() -> IO[bytes]:
        if info.file_size > MAX_WHOLE_BYTES:
            raise UserError(f"{path}!{info.filename}: more than {MAX_WHOLE_BYTES} bytes in a zip")
        try:
            with zipfile.ZipFile(path) as archive, archive.open(info) as member:
                return io.BytesIO(member.read(MAX_WHOLE_BYTES + 1))
        except _ZIP_ERRORS as error:
            raise UserError(f"{path}!{info.filename}: damaged zip ({error})") from None

    return open_member
