"""Errors of the file system in one line."""

import errno
from pathlib import Path

import pytest
from safetensors import SafetensorError

from zerogames import UserError
from zerogames.runs.disk import name_disk_errors

FULL = "the disk of run is full; what was written is whole. Make space, and the same command contin"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x"), FULL),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), FULL),
        (SafetensorError("I/O error: No space left on device (os error 28)"), FULL),
        (PermissionError(errno.EACCES, "Permission denied"), "run: Permission denied"),
        (SafetensorError("header too large"), "run: header too large"),
    ],
)
def test_what_went_wrong_is_named(error: Exception, text: str) -> None:
    with pytest.raises(UserError, match=text), name_disk_errors(Path("run")):
        raise error


def test_other_errors_pass() -> None:
    with pytest.raises(BrokenPipeError), name_disk_errors(Path("run")):
        raise BrokenPipeError
    with pytest.raises(KeyError), name_disk_errors(Path("run")):
        raise KeyError
