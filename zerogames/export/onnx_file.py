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


def build_onnx(
    model: Model, game: Game, *, half: bool = False, board_op: bool = False
) -> onnx.ModelProto:
    """A net for `game` as an ONNX model with a dynamic batch.

    Args:
        model: The net.
        game: The game; it gives the board's size.
        half: Compute in float16; planes and outputs stay float32.
        board_op: Write masked depthwise layers as the operator `zerogames.BoardDepthwise`.
    """
    tensors = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    return NetGraph(model.spec, game, tensors, model.patterns, half=half, board_op=board_op).build()


def export_onnx(model: Model, game: Game, path: Path) -> None:
    """Write `model` for our own evaluator to `path`, atomically.

    Masked layers are plain convolutions: as fast as the operator with its function once loaded, and
    quicker to load.
    """
    graph = build_onnx(model, game)
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
