"""Writing a net as an ONNX file."""

import os
from pathlib import Path

import onnx

from zerogames.atomic import write_bytes_atomically
from zerogames.export.onnx_graph import NetGraph
from zerogames.game import Game
from zerogames.nets.model import Model

CACHED_FILES = 32
"""Exports kept; the least recently used ones go first."""
EXPORT_VERSION = 1
"""Raise it when the exported graph changes: cached exports of older versions are not used."""


def export_onnx(model: Model, game: Game, path: Path) -> None:
    """Write `model` for `game` with a dynamic batch to `path`, atomically."""
    tensors = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    graph = NetGraph(model.spec, game, tensors, model.patterns).build()
    onnx.checker.check_model(graph)
    write_bytes_atomically(path, graph.SerializeToString())


def cache_folder() -> Path:
    """Where exports made on the fly are kept, by content."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "zerogames" / "onnx"


def prune_cache() -> None:
    """Keep the exports that were used last; a training run makes many."""
    files = sorted(cache_folder().glob("*.onnx"), key=lambda file: file.stat().st_mtime)
    for file in files[:-CACHED_FILES]:
        file.unlink(missing_ok=True)
