"""`zerogames export --format onnx`: one file that any runtime reads."""

from pathlib import Path

import onnx

from zerogames.atomic import write_bytes_atomically
from zerogames.errors import UserError
from zerogames.export.board_op import add_function, board_nodes
from zerogames.export.formats import ExportFormat, ExportRequest
from zerogames.export.metadata import add_metadata
from zerogames.export.onnx_file import build_onnx
from zerogames.export.onnx_session import OnnxNet
from zerogames.export.parity import TOLERANCES, Tolerance, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.nets.evaluation import Evaluation

MAX_BYTES = 2_000_000_000
"""A protobuf message cannot hold more."""


def write_onnx(request: ExportRequest) -> int:
    """Build, check and write the file."""
    model = make_checked_onnx(request)
    write_bytes_atomically(request.out, model.SerializeToString())
    report_file(request, model, request.out)
    return 0


def make_checked_onnx(request: ExportRequest, *, board_op: bool = True) -> onnx.ModelProto:
    """The ONNX model a request asks for, valid and with the net's answers; prints differences.

    Args:
        request: What is wanted.
        board_op: False for a reader that takes plain convolutions best.
    """
    half = request.precision == "fp16"
    model = build_onnx(request.model, request.game, half=half, board_op=board_op)
    if request.plugin_op and not board_nodes(model):
        raise UserError(
            f"'{request.info.name}' has no masked depthwise layer; leave out --plugin-op"
        )
    add_metadata(model, request.model, request.game, request.info, precision=request.precision)
    portable = add_function(model)
    if portable.ByteSize() > MAX_BYTES:
        raise UserError(f"'{request.info.name}' is too large for one ONNX file (2 GB)")
    check_structure(portable)
    if request.plugin_op:
        check_structure(model)
    check_answers(request, portable)
    return model if request.plugin_op else portable


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


def check_answers(request: ExportRequest, model: onnx.ModelProto) -> None:
    """Run the model in onnxruntime on random positions, print and check the differences."""
    spec = request.model.spec
    planes = random_positions(request.game, spec.encoding, request.positions)
    ours = OnnxNet(model.SerializeToString()).evaluate(planes)
    check_evaluation(request, ours, torch_answers(request.model, planes))


def check_evaluation(
    request: ExportRequest,
    ours: Evaluation,
    right: Evaluation,
    tolerance: Tolerance | None = None,
) -> None:
    """Print the largest differences; raise `UserError` above the (precision's) tolerance."""
    parity = compare(ours, right)
    say(
        request,
        f"largest differences from torch on {parity.positions} positions: {parity.describe()}",
    )
    parity.check(tolerance or TOLERANCES[request.precision])


def report_file(request: ExportRequest, model: onnx.ModelProto, path: Path) -> None:
    """Say what was written."""
    nodes = len(board_nodes(model))
    masked = ""
    if nodes:
        how = "with its function" if model.functions else "for the TensorRT plugin alone"
        masked = f", {nodes} masked layers as zerogames.BoardDepthwise {how}"
    say(
        request,
        f"{path}: {request.info.name} for {request.game.spec.identity}, {request.precision}, "
        f"{path.stat().st_size / 1e6:.1f} MB{masked}",
    )


def say(request: ExportRequest, text: str) -> None:
    """Print a line as it is."""
    request.console.print(text, highlight=False, markup=False, soft_wrap=True)


FORMAT = ExportFormat(suffix=".onnx", write=write_onnx, precisions=("fp32", "fp16"), plugin_op=True)
