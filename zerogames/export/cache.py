"""Exports made on the fly and kept by content; found here without torch or onnx."""

import contextlib
import os
import time
from pathlib import Path

CACHED_FILES = 32
"""Exports kept; the least recently used ones go first."""
SAFE_S = 3600.0
"""An export that was used less than so many seconds ago is not removed."""
EXPORT_VERSION = 1
"""Raise it when the exported graph changes: cached exports of older versions are not used."""
NATIVE_VERSION = 2
"""Likewise for nets in the form of our own kernels."""
NATIVE_SUFFIX = ".native"


def cache_folder() -> Path:
    """Where they are."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "zerogames" / "onnx"


def mark_used(file: Path) -> bool:
    """Note that an export is used now; false if there is none."""
    try:
        os.utime(file)
    except FileNotFoundError:  # another process may have removed it just now
        return False
    return True


def prune_cache() -> None:
    """Keep the exports that were used last; a training run makes many.

    One that was used in the last hour stays in any case: another process may be about to read it.
    """
    used: list[tuple[float, Path]] = []
    exports = (*cache_folder().glob("*.onnx"), *cache_folder().glob(f"*{NATIVE_SUFFIX}"))
    for file in exports:
        with contextlib.suppress(FileNotFoundError):  # another process prunes too
            used.append((file.stat().st_mtime, file))
    for mtime, file in sorted(used)[:-CACHED_FILES]:
        if time.time() - mtime > SAFE_S:
            file.unlink(missing_ok=True)
