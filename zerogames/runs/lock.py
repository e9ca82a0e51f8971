"""The lock of a folder: one command at a time writes into it.

The operating system holds the lock for the process and releases it at any death, kill -9 included,
so a lock file that was left behind never blocks.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from zerogames.atomic import write_text_atomically
from zerogames.errors import UserError
from zerogames.runs.disk import name_disk_errors

LOCK_NAME = ".lock"


class LockedFolder:
    """A folder that this process has locked; it is made if it is missing.

    Nothing in it changes before `accept`: a command that is refused after it has opened a folder
    leaves every byte as it was, and no folder that was not there before.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock; raise `UserError` if another process has it."""
        if path.exists() and not path.is_dir():
            raise UserError(f"{path} is a file; name a folder")
        self.path = path
        self._new_folders = [one for one in (path, *path.parents) if not one.exists()]
        self._descriptor: int | None = None
        try:
            with name_disk_errors(path):
                self._descriptor = _lock(path)
        except UserError:
            self._remove_new_folders()
            raise

    def accept(self, name: str, text: str) -> None:
        """Write the file that says what the folder is for."""
        with name_disk_errors(self.path):
            write_text_atomically(self.path / name, text)
        self._new_folders = []

    @contextlib.contextmanager
    def released_on_error(self) -> Iterator[None]:
        """Checks that follow the lock: if one fails, the folder is free again."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another command have the folder; a second call has no effect."""
        if self._descriptor is None:
            return
        with contextlib.suppress(OSError):
            (self.path / LOCK_NAME).unlink()
        os.close(self._descriptor)
        self._descriptor = None
        self._remove_new_folders()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _remove_new_folders(self) -> None:
        with contextlib.suppress(OSError):  # not empty: another command has begun there
            for folder in self._new_folders:
                folder.rmdir()


def _lock(folder: Path) -> int:
    """A descriptor that holds the lock; the file names the process for whoever is refused."""
    path = folder / LOCK_NAME
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue  # A refused command has just removed the folder that it had made.
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, 20).decode(errors="replace").strip()
                process = f"process {holder}" if holder.isdecimal() else "another process"
                raise UserError(
                    f"{folder} is in use by {process}; wait for its end or name another folder"
                ) from None
            # The holder before removes its file: only a lock on the file that is there counts.
            if _is_same_file(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
