"""Writing a net as an ONNX file."""

from pathlib import Path

import onnx

from zerogames.atomic import write_bytes_atomically
from zerogames.export.onnx_graph import OnnxWriter
from zerogames.game import Game
from zerogames.nets.model import Model


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
    return OnnxWriter(model.program(game), half=half, board_op=board_op).model()


def export_onnx(model: Model, game: Game, path: Path) -> None:
    """Write `model` for our own evaluator to `path`, atomically.

    Masked layers are plain convolutions: as fast as the operator with its function once loaded, and
    quicker to load.
    """
    graph = build_onnx(model, game)
    onnx.checker.check_model(graph)
    write_bytes_atomically(path, graph.SerializeToString())
