"""Exports made on the fly and kept by content; found here without torch or onnx."""

import os
from pathlib import Path

CACHED_FILES = 32
"""Exports kept; the least recently used ones go first."""
EXPORT_VERSION = 1
"""Raise it when the exported graph changes: cached exports of older versions are not used."""


def cache_folder() -> Path:
    """Where they are."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "zerogames" / "onnx"


def prune_cache() -> None:
    """Keep the exports that were used last; a training run makes many."""
    files = sorted(cache_folder().glob("*.onnx"), key=lambda file: file.stat().st_mtime)
    for file in files[:-CACHED_FILES]:
        file.unlink(missing_ok=True)
