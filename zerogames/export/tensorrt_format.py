"""`zerogames export --format tensorrt`: an engine for the GPU of this machine.

Where TensorRT or the GPU is missing the ONNX file is written instead, and the exit code says that
no engine was built.
"""

import hashlib
import sys
import time
from types import ModuleType

import numpy as np
from zerogames_kernels.sources import source_folder

from zerogames.atomic import write_bytes_atomically
from zerogames.cache import cache_folder
from zerogames.errors import UserError
from zerogames.export.engine import (
    EngineInfo,
    build_engine,
    load_module,
    load_plugin,
    plugin_library,
    write_engine,
)
from zerogames.export.formats import ExportFormat, ExportRequest
from zerogames.export.metadata import describe_export
from zerogames.export.onnx_format import check_evaluation, make_checked_onnx, report_file, say
from zerogames.export.parity import torch_answers
from zerogames.export.positions import random_positions

NOT_BUILT = 1
"""Exit code."""
TIMED_CALLS = 50


def find_gpu() -> str:
    """The name of the GPU; empty if there is none."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else ""


def write_tensorrt(request: ExportRequest) -> int:
    """Build, run, check, time and write an engine; or say what is missing."""
    library = request.plugin_library or plugin_library()
    gpu = find_gpu()
    missing = [] if gpu else ["an NVIDIA GPU that torch can use"]
    trt: ModuleType | None = None
    try:
        trt = load_module("tensorrt")
    except UserError as error:
        missing.append(str(error).removeprefix("missing "))
    if request.plugin_op and not library.is_file():
        missing.append(f"the compiled plugin {library}")
    model = make_checked_onnx(request, board_op=request.plugin_op)
    if trt is None or missing:
        path = request.out.with_suffix(".onnx")
        write_bytes_atomically(path, model.SerializeToString())
        report_file(request, model, path)
        say(request, f"sources of the plugin for masked layers: {source_folder('tensorrt')}")
        print(f"no engine was built; missing: {', '.join(missing)}", file=sys.stderr)
        return NOT_BUILT

    if request.plugin_op:
        load_plugin(trt, library)
    cache = cache_folder() / f"tensorrt-{trt.__version__}-{gpu.replace(' ', '-')}.timing"
    cache.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    engine = build_engine(trt, model, request.batch, timing_cache=cache)
    seconds = time.perf_counter() - start
    save_engine(request, engine, builder="tensorrt", version=trt.__version__, run=True)
    say(request, f"built for {gpu} in {seconds:.1f} s")
    return 0


def save_engine(
    request: ExportRequest, engine: bytes, *, builder: str, version: str, run: bool
) -> None:
    """Write an engine and its description; `run` it first where there is a GPU."""
    info = EngineInfo(
        builder=builder,
        builder_version=version,
        sha256=hashlib.sha256(engine).hexdigest(),
        batch=(request.batch.smallest, request.batch.best, request.batch.largest),
        plugin=request.plugin_op,
        net=describe_export(request.model, request.game, request.info, precision=request.precision),
    )
    if run:
        try_engine(request, engine, info)
    write_engine(request.out, engine, info)
    say(
        request,
        f"{request.out}: {request.info.name} for {request.game.spec.identity}, "
        f"{request.precision}, {len(engine) / 1e6:.1f} MB, {builder} {version}",
    )


def try_engine(request: ExportRequest, engine: bytes, info: EngineInfo) -> None:
    """Run an engine on the GPU: compare its answers with torch's, and time it."""
    from zerogames.export.engine_run import EngineNet

    net = EngineNet(engine, info)
    encoding = request.model.spec.encoding
    planes = random_positions(request.game, encoding, request.positions)
    check_evaluation(request, net.evaluate(planes), torch_answers(request.model, planes))
    size = request.batch.best
    batch = np.ascontiguousarray(np.resize(planes, (size, *planes.shape[1:])))
    net.evaluate(batch)
    start = time.perf_counter()
    for _ in range(TIMED_CALLS):
        net.evaluate(batch)
    rate = TIMED_CALLS * size / (time.perf_counter() - start)
    say(request, f"{rate:,.0f} positions/s in batches of {size}")


FORMAT = ExportFormat(
    suffix=".engine", write=write_tensorrt, precisions=("fp32", "fp16"), plugin_op=True
)
