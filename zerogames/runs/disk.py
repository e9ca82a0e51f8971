"""Errors of the file system as one line for the user; a full disk is the usual one."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from zerogames.errors import UserError


def disk_error(error: OSError | SafetensorError, folder: Path) -> UserError:
    """Return what the user is told about a failure to read or write in `folder`."""
    # safetensors gives its own error, with the system's words in it.
    if "No space left" in str(error) or (
        isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    ):
        return UserError(
            f"the disk of {folder} is full; what was written is whole. "
            "Make space, and the same command continues"
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return UserError(f"{folder}: {reason}")


@contextmanager
def name_disk_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the file system into a `UserError` that names the folder."""
    try:
        yield
    except BrokenPipeError:
        raise  # The reader of the output has ended: no error of the disk.
    except (OSError, SafetensorError) as error:
        raise disk_error(error, folder) from None
