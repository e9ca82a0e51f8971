"""`zerogames export --format int8`: a net for CPUs; `--precision int8` finds it beside the net."""

from zerogames.export.cache import INT8_SUFFIX, int8_path
from zerogames.export.formats import ExportFormat, ExportRequest
from zerogames.export.int8 import quantize_net, write_int8
from zerogames.export.metadata import add_metadata
from zerogames.export.onnx_file import build_onnx
from zerogames.nets.foreign import resolve_net
from zerogames.nets.net_info import net_version


def write_int8_file(request: ExportRequest) -> int:
    """Quantise, measure and write a net."""
    spec, source = request.model.spec, request.source
    model = build_onnx(request.model, request.game)
    add_metadata(model, request.model, request.game, request.info, precision="int8")
    net = quantize_net(model, request.game, spec.encoding, calibration=request.calibration)
    version = net_version(resolve_net(source)) if source else ""
    write_int8(net, request.out, version=version, game=request.game, encoding=spec.encoding)
    found = source is not None and int8_path(source) == request.out
    use = "; --precision int8 uses it" if found else ""
    for line in (
        f"against float32 on positions not calibrated with: {net.describe()}",
        f"{request.out}: {request.info.name} for {request.game.spec.identity}, int8, "
        f"{request.out.stat().st_size / 1e6:.1f} MB{use}",
    ):
        request.console.print(line, highlight=False, soft_wrap=True)
    return 0


FORMAT = ExportFormat(
    suffix=INT8_SUFFIX, write=write_int8_file, precisions=("int8",), calibration=True
)
