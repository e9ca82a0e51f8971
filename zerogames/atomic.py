"""Writing files so that a reader sees all of one or nothing, whatever happens in between."""

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"
"""A file with this ending is unfinished; nothing reads it."""

_asking_for_mask = threading.Lock()
"""The mask can only be read by setting it."""
_tidied: set[Path] = set()
"""The folders in which this process has removed what killed writers left."""


def temporary_path(path: Path) -> Path:
    """Return a name beside `path` for an unfinished file or folder of the calling thread.

    The first call for a folder removes the temporaries of writers that have ended.
    """
    if path.parent not in _tidied:
        _tidied.add(path.parent)
        remove_abandoned(path.parent)
    # The host, because folders are shared; the thread's number (the process's for its first one),
    # because several threads may make the same file.
    writer = f"{_host()}-{threading.get_native_id()}"
    return path.with_name(f".{path.name}.{writer}{TEMPORARY_SUFFIX}")


def _host() -> str:
    return os.uname().nodename.replace("/", "_")


def remove_abandoned(folder: Path, *, below: bool = False) -> None:
    """Remove the temporaries that ended writers have left in a folder, and `below` it if asked."""
    pattern = f".*.*-*{TEMPORARY_SUFFIX}"
    # A folder that is missing or refuses is named by the write that follows.
    with contextlib.suppress(OSError):
        for path in list((folder.rglob if below else folder.glob)(pattern)):
            host, _, writer = path.name.removesuffix(TEMPORARY_SUFFIX).rpartition("-")
            if host.endswith(f".{_host()}") and writer.isdecimal() and not _runs(int(writer)):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)


def _runs(thread: int) -> bool:
    """Whether a thread or process of this number runs on this host."""
    try:
        os.kill(thread, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # another user's
    return True


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file under a temporary name, then fsync and rename it to `path`.

    On any error the temporary file is removed and `path` is as before. Devices and pipes are
    refused: renaming would replace them by a file.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileExistsError(errno.EEXIST, "it is a device or a pipe, no file", str(path))
    temporary = temporary_path(path)
    try:
        write(temporary)
        sync(temporary)
        temporary.chmod(_new_file_mode())  # some writers make private files
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Return when a file's contents, or a folder's entries, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _new_file_mode() -> int:
    with _asking_for_mask:
        mask = os.umask(0)
        os.umask(mask)
    return 0o666 & ~mask


def write_bytes_atomically(path: Path, content: bytes) -> None:
    """Write a file that fits in memory."""
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def write_text_atomically(path: Path, text: str) -> None:
    """Write a small text file."""
    write_bytes_atomically(path, text.encode())


def append_durably(path: Path, content: bytes) -> None:
    """Append to a file: all of `content` is on disk when this returns, none of it after an error.

    Python's buffered files would write what is left once more when they are closed.
    """
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        size = os.fstat(file).st_size
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(file, size)
            raise
    finally:
        os.close(file)
