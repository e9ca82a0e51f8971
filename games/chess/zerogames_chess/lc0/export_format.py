"""`zerogames export --format lc0`: a file that lc0 plays with.

Residual nets become weights in Lc0's own form, for every backend. Lc0 has no form for other nets
(MobileNets, ConvNeXts, board-shaped kernels): they go in as ONNX, for its onnx backends.
"""

import onnx
from onnx import helper

from zerogames.errors import UserError
from zerogames.export.formats import ExportFormat
from zerogames.export.names import INPUT_PLANES, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_WDL
from zerogames.export.onnx_format import make_checked_onnx
from zerogames.export.parity import Parity, Tolerance, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.export.request import ExportReport, ExportRequest
from zerogames_chess.lc0.network import MAGIC, Frame, write_packed
from zerogames_chess.lc0.transfer import (
    DEFAULT_LICENCE,
    SUFFIXES,
    format_model,
    message_to_model,
)
from zerogames_chess.lc0.wire import Message, bytes_field, fixed32_field, integer_field

LINEAR16 = Tolerance(logits=0.01, probability=0.01)
"""Weights in steps of a 65535th of each layer's range."""
ONNX_VERSION = (0, 28, 0)
"""The first that reads ONNX in its files."""
FLOAT = 1


def write(request: ExportRequest) -> ExportReport:
    """Write a residual net as weights, any other chess net as ONNX inside a weights file."""
    if not str(request.out).endswith(SUFFIXES):
        raise UserError(f"{request.out}: an Lc0 file is called .pb.gz")
    spec = request.model.spec
    if request.game.spec.name != "chess" or not spec.encoding.startswith("lc0-classic"):
        raise UserError(
            f"'{spec.name}' is for {spec.game} with {spec.encoding}; Lc0's files hold chess nets "
            "with lc0-classic"
        )
    try:
        content, parity = _weights(request)
        form = "weights (linear16)"
    except _NoWeightsForm as reason:
        content, parity = _onnx_inside(request)
        form = f"ONNX inside, {request.options.precision} ({reason})"
    write_packed(content, request.out)
    size = request.out.stat().st_size / 1e6
    return ExportReport(
        path=request.out, content=f"{spec.name}, {size:.1f} MB, {form}", parity=parity
    )


class _NoWeightsForm(Exception):
    """Lc0 has no weights for this architecture."""


def _weights(request: ExportRequest) -> tuple[bytes, Parity]:
    try:
        frame = Frame(
            licence=_licence(request), training_steps=request.info.step, min_version=(0, 0, 0)
        )
        content = format_model(request.model, frame)
    except UserError as error:
        raise _NoWeightsForm(str(error).partition(": ")[2].partition(";")[0]) from None
    if request.options.precision != "fp32":
        raise UserError("Lc0's weights have one precision; leave out --precision")
    read_back = message_to_model(Message(content))
    planes = random_positions(request.game, request.model.spec.encoding, request.options.positions)
    ours, right = torch_answers(read_back, planes), torch_answers(request.model, planes)
    return content, compare(ours, right).check(LINEAR16)


def _onnx_inside(request: ExportRequest) -> tuple[bytes, Parity]:
    model, parity = make_checked_onnx(request, board_op=False)
    moves_left = request.model.spec.moves_left
    if moves_left:
        _make_column(model)
    content = format_onnx_net(
        model.SerializeToString(),
        moves_left=moves_left,
        training_steps=request.info.step,
        licence=_licence(request),
    )
    return content, parity


def _licence(request: ExportRequest) -> str:
    return request.info.data_licence or DEFAULT_LICENCE


def _make_column(model: onnx.ModelProto) -> None:
    """Lc0 wants moves left as `[batch, 1]`: undo the last squeeze."""
    [squeeze] = [node for node in model.graph.node if OUTPUT_MOVES_LEFT in node.output]
    assert squeeze.op_type == "Squeeze"
    squeeze.CopyFrom(
        helper.make_node("Identity", squeeze.input[:1], squeeze.output, name=squeeze.name)
    )
    [output] = [output for output in model.graph.output if output.name == OUTPUT_MOVES_LEFT]
    output.type.tensor_type.shape.dim.add().dim_value = 1
    onnx.checker.check_model(model, full_check=True)


def format_onnx_net(model: bytes, *, moves_left: bool, training_steps: int, licence: str) -> bytes:
    """The message `Net` around an ONNX model whose planes and outputs are float32."""
    network = (
        integer_field(1, 1)  # classic planes
        + integer_field(2, 2)  # win, draw, loss
        + integer_field(3, 5)  # ONNX
        + integer_field(4, 1)  # logits of the 1858 moves, whatever the head
        + integer_field(5, 2)  # win, draw, loss
        + integer_field(6, int(moves_left))
    )
    inside = (
        bytes_field(1, model)
        + integer_field(2, FLOAT)
        + bytes_field(3, INPUT_PLANES.encode())
        + bytes_field(5, OUTPUT_WDL.encode())
        + bytes_field(6, OUTPUT_POLICY.encode())
        + (bytes_field(7, OUTPUT_MOVES_LEFT.encode()) if moves_left else b"")
    )
    version = b"".join(integer_field(i + 1, part) for i, part in enumerate(ONNX_VERSION))
    return b"".join(
        (
            fixed32_field(1, MAGIC),
            bytes_field(2, licence.encode()),
            bytes_field(3, version),
            bytes_field(4, integer_field(1, 1) + bytes_field(2, network)),
            bytes_field(5, integer_field(1, training_steps)),
            bytes_field(11, inside),
        )
    )


FORMAT = ExportFormat(suffix=".pb.gz", write=write, precisions=("fp32", "fp16"))
