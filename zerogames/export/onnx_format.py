"""`zerogames export --format onnx`: one file that any runtime reads."""

from pathlib import Path
from typing import NamedTuple

import onnx

from zerogames.atomic import write_bytes_atomically
from zerogames.errors import UserError
from zerogames.export.board_op import add_function, board_nodes
from zerogames.export.formats import ExportFormat
from zerogames.export.metadata import add_metadata
from zerogames.export.onnx_file import build_onnx
from zerogames.export.onnx_session import OnnxNet
from zerogames.export.parity import TOLERANCES, Parity, check_analyses, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.export.request import ExportReport, ExportRequest

MAX_BYTES = 2_000_000_000
"""A protobuf message cannot hold more."""


class CheckedOnnx(NamedTuple):
    """An ONNX model that is valid and gives the net's answers."""

    model: onnx.ModelProto
    parity: Parity


def write_onnx(request: ExportRequest) -> ExportReport:
    """Build, check and write the file."""
    return write_checked(request, make_checked_onnx(request), request.out)


def write_checked(request: ExportRequest, checked: CheckedOnnx, path: Path) -> ExportReport:
    """Write a model that was checked."""
    model = checked.model
    write_bytes_atomically(path, model.SerializeToString())
    nodes = len(board_nodes(model))
    masked = ""
    if nodes:
        how = "with its function" if model.functions else "for the TensorRT plugin alone"
        masked = f", {nodes} masked layers as zerogames.BoardDepthwise {how}"
    content = describe_file(request, path.stat().st_size) + masked
    return ExportReport(path=path, content=content, parity=checked.parity)


def describe_file(request: ExportRequest, size: int) -> str:
    """Name the net, its game, the precision and the size of a file."""
    identity = request.game.spec.identity
    return f"{request.info.name} for {identity}, {request.options.precision}, {size / 1e6:.1f} MB"


def make_checked_onnx(request: ExportRequest, *, board_op: bool = True) -> CheckedOnnx:
    """Make the ONNX model a request asks for, and check that it gives the net's answers.

    Args:
        request: What is wanted.
        board_op: False for a reader that takes plain convolutions best.
    """
    precision, plugin_op = request.options.precision, request.options.plugin_op
    half = precision == "fp16"
    model = build_onnx(request.model, request.game, half=half, board_op=board_op)
    if plugin_op and not board_nodes(model):
        raise UserError(
            f"'{request.info.name}' has no masked depthwise layer; leave out --plugin-op"
        )
    add_metadata(model, request.model, request.game, request.info, precision=precision)
    portable = add_function(model)
    if portable.ByteSize() > MAX_BYTES:
        raise UserError(f"'{request.info.name}' is too large for one ONNX file (2 GB)")
    check_structure(portable)
    if plugin_op:
        check_structure(model)
    planes = random_positions(request.game, request.model.spec.encoding, request.options.positions)
    net, tolerance = OnnxNet(portable.SerializeToString()), TOLERANCES[precision]
    answers = torch_answers(request.model, planes)
    parity = compare(net.evaluate(planes), answers).check(tolerance)
    check_analyses(net.analyse(planes), request.model, planes, tolerance)
    return CheckedOnnx(model if plugin_op else portable, parity)


def check_structure(model: onnx.ModelProto) -> None:
    """Check validity, and that every value's type and shape can be inferred."""
    onnx.checker.check_model(model)
    inferred = onnx.shape_inference.infer_shapes(
        model, check_type=True, strict_mode=True, data_prop=True
    )
    known = {
        value.name: value.type.tensor_type
        for value in (*inferred.graph.value_info, *inferred.graph.output)
    }
    for node in model.graph.node:
        for output in node.output:
            if output not in known or not known[output].HasField("shape"):
                raise UserError(f"ONNX cannot infer the shape of {output}; please report this")


FORMAT = ExportFormat(suffix=".onnx", write=write_onnx, precisions=("fp32", "fp16"), plugin_op=True)
