"""Errors of the file system as one line for the user; a full disk is the usual one."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from zerogames.errors import UserError


@contextmanager
def name_disk_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the file system into a `UserError` that names the folder."""
    try:
        yield
    except BrokenPipeError:
        raise  # The reader of the output has ended: no error of the disk.
    except (OSError, SafetensorError) as error:
        # safetensors gives its own error, with the system's words in it.
        code, reason = getattr(error, "errno", None), getattr(error, "strerror", None)
        if "No space left" in str(error) or code in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"the disk of {folder} is full; what was written is whole. "
                "Make space, and the same command continues"
            ) from None
        raise UserError(f"{folder}: {reason or error}") from None
