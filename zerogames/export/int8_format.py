"""`zerogames export --format int8`: a net for CPUs; `--precision int8` finds it beside the net."""

from zerogames.export.cache import INT8_SUFFIX, int8_path
from zerogames.export.formats import ExportFormat
from zerogames.export.int8 import quantize_net, write_int8
from zerogames.export.metadata import add_metadata
from zerogames.export.onnx_format import describe_file
from zerogames.export.request import ExportReport, ExportRequest
from zerogames.nets.foreign import resolve_net
from zerogames.nets.net_info import net_version


def write_int8_file(request: ExportRequest) -> ExportReport:
    """Quantise, measure and write a net."""
    encoding, source, out = request.model.spec.encoding, request.source, request.out
    calibration = request.options.calibration
    program = request.model.program(request.game)
    net = quantize_net(program, request.game, encoding, calibration=calibration)
    add_metadata(net.model, request.model, request.game, request.info, precision="int8")
    version = net_version(resolve_net(source)) if source else ""
    write_int8(net, out, version=version, game=request.game, encoding=encoding)
    notes = [f"left in float32: {net.kept}"] if net.kept else []
    if source is not None and int8_path(source) == out:
        notes.append("--precision int8 uses this file")
    return ExportReport(
        path=out,
        content=describe_file(request, out.stat().st_size),
        agreement=net.agreement,
        notes=tuple(notes),
    )


FORMAT = ExportFormat(
    suffix=INT8_SUFFIX, write=write_int8_file, precisions=("int8",), calibration=True
)
