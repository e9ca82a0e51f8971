"""The user's cache folder: files made from nets on first use and found again by content.

Needs neither torch nor onnx. What the files hold is said in `zerogames.export.cache` and
`zerogames.nets.foreign`.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

CACHED_FILES = 32
"""Exports kept; the least recently used ones are removed first."""
SAFE_S = 3600.0
"""Seconds after its last use in which an export is not removed."""
PRUNED = ("*.onnx", "*.native")
"""The files that are counted and removed; a training run makes many of them."""


def user_cache() -> Path:
    """Return the folder of all programs' caches, which need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def cache_folder() -> Path:
    """Return the folder, `zerogames/onnx` in the user's cache; it is made if it is missing.

    The cache is optional: where it cannot be written, a temporary folder of this process takes its
    place, and a line of warning says so.
    """
    return _writable(user_cache())


@cache
def _writable(base: Path) -> Path:
    folder = base / "zerogames" / "onnx"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        print(
            f"warning: the cache {folder} cannot be written ({error.strerror}); nets are converted "
            "anew by every command (XDG_CACHE_HOME names another folder)",
            file=sys.stderr,
        )
        _fallback.append(tempfile.TemporaryDirectory(prefix="zerogames-cache-"))
        return Path(_fallback[-1].name)


_fallback: list[tempfile.TemporaryDirectory[str]] = []
"""Removed when the process ends."""


def cached_file(name: str, write: Callable[[Path], None]) -> Path:
    """Return the file of this name in the cache; `write` makes it, atomically, if it is missing."""
    path = cache_folder() / name
    if not mark_used(path):
        path.parent.mkdir(parents=True, exist_ok=True)  # It may have been removed meanwhile.
        write(path)
        prune_cache()
    return path


def mark_used(file: Path) -> bool:
    """Set the file's time of last use to now; return whether the file exists."""
    try:
        os.utime(file)
    except FileNotFoundError:  # another process may have removed it just now
        return False
    return True


def prune_cache() -> None:
    """Remove all exports but those used last.

    One that was used in the last hour stays in any case: another process may be about to read it.
    """
    used: list[tuple[float, Path]] = []
    for file in (file for pattern in PRUNED for file in cache_folder().glob(pattern)):
        with contextlib.suppress(FileNotFoundError):  # another process prunes too
            used.append((file.stat().st_mtime, file))
    for mtime, file in sorted(used)[:-CACHED_FILES]:
        if time.time() - mtime > SAFE_S:
            file.unlink(missing_ok=True)
