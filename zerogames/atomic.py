"""Writing files so that a reader sees all of one or nothing, whatever happens in between."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"
"""A file with this ending is unfinished; nothing reads it."""

_asking_for_mask = threading.Lock()
"""The mask can only be read by setting it."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make a file under a temporary name, then fsync and rename it to `path`.

    On any error the temporary file is removed and `path` is as before.
    """
    # A thread's number, the process's for its first one: several may make the same file.
    writer = threading.get_native_id()
    temporary = path.with_name(f".{path.name}.{writer}{TEMPORARY_SUFFIX}")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(_new_file_mode())  # some writers make private files
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _new_file_mode() -> int:
    with _asking_for_mask:
        mask = os.umask(0)
        os.umask(mask)
    return 0o666 & ~mask


def write_bytes_atomically(path: Path, content: bytes) -> None:
    """Write a file that fits in memory."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_atomically(path, write)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a small text file."""
    write_bytes_atomically(path, text.encode())
