"""Writing a net as an ONNX file."""

import os
from pathlib import Path

import onnx

from zerogames.atomic import write_atomically
from zerogames.export.onnx_graph import NetGraph
from zerogames.game import Game
from zerogames.nets.model import Model

EXPORT_VERSION = 1
"""Raise it when the exported graph changes: cached exports of older versions are not used."""


def export_onnx(model: Model, game: Game, path: Path) -> None:
    """Write `model` for `game` with a dynamic batch to `path`, atomically."""
    tensors = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    graph = NetGraph(model.spec, game, tensors, model.patterns).build()
    onnx.checker.check_model(graph)
    content = graph.SerializeToString()
    write_atomically(path, lambda file: _write(file, content))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def cache_folder() -> Path:
    """Where exports made on the fly are kept, by content."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "zerogames" / "onnx"
