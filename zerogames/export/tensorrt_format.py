"""`zerogames export --format tensorrt`: an engine for the GPU of this machine.

Where TensorRT or the GPU is missing, the ONNX file is written instead and the report says that no
engine was built.
"""

import hashlib
import time
from dataclasses import replace
from types import ModuleType

import numpy as np
from zerogames_kernels.sources import source_folder

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
from zerogames.export.formats import ExportFormat
from zerogames.export.metadata import describe_export
from zerogames.export.onnx_format import describe_file, make_checked_onnx, write_checked
from zerogames.export.parity import TOLERANCES, Parity, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.export.request import ExportReport, ExportRequest

TIMED_CALLS = 50


def find_gpu() -> str:
    """The name of the GPU; empty if there is none."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else ""


def write_tensorrt(request: ExportRequest) -> ExportReport:
    """Build, run, check, time and write an engine; or say what is missing."""
    options = request.options
    library = options.plugin_library or plugin_library()
    gpu = find_gpu()
    missing = [] if gpu else ["an NVIDIA GPU that torch can use"]
    trt: ModuleType | None = None
    try:
        trt = load_module("tensorrt")
    except UserError as error:
        missing.append(str(error).removeprefix("missing "))
    if options.plugin_op and not library.is_file():
        missing.append(f"the compiled plugin {library}")
    checked = make_checked_onnx(request, board_op=options.plugin_op)
    if trt is None or missing:
        report = write_checked(request, checked, request.out.with_suffix(".onnx"))
        note = f"sources of the plugin for masked layers: {source_folder('tensorrt')}"
        return replace(report, notes=(note,), missing=tuple(missing))

    if options.plugin_op:
        load_plugin(trt, library)
    cache = cache_folder() / f"tensorrt-{trt.__version__}-{gpu.replace(' ', '-')}.timing"
    cache.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    engine = build_engine(trt, checked.model, request.batch, timing_cache=cache)
    note = f"built for {gpu} in {time.perf_counter() - start:.1f} s"
    return save_engine(request, engine, f"tensorrt {trt.__version__}", run=True, note=note)


def save_engine(
    request: ExportRequest, engine: bytes, builder: str, *, run: bool, note: str
) -> ExportReport:
    """Write an engine and its description; `run` it first where there is a GPU.

    Args:
        request: What was asked for.
        engine: What was built.
        builder: The name and the version of the program that built it.
        run: Whether there is a GPU.
        note: A sentence for the report.
    """
    precision, (name, version) = request.options.precision, builder.split()
    batch = request.batch
    info = EngineInfo(
        builder=name,
        builder_version=version,
        sha256=hashlib.sha256(engine).hexdigest(),
        batch=(batch.smallest, batch.best, batch.largest),
        plugin=request.options.plugin_op,
        net=describe_export(request.model, request.game, request.info, precision=precision),
    )
    parity, rate = try_engine(request, engine, info) if run else (None, 0.0)
    write_engine(request.out, engine, info)
    speed = [f"{rate:,.0f} positions/s in batches of {batch.best}"] if run else []
    return ExportReport(
        path=request.out,
        content=f"{describe_file(request, len(engine))}, {builder}",
        parity=parity,
        notes=(*speed, note),
    )


def try_engine(request: ExportRequest, engine: bytes, info: EngineInfo) -> tuple[Parity, float]:
    """Run an engine on the GPU: compare its answers with torch's, and measure positions/s."""
    from zerogames.export.engine_run import EngineNet

    net, options = EngineNet(engine, info), request.options
    planes = random_positions(request.game, request.model.spec.encoding, options.positions)
    answers = torch_answers(request.model, planes)
    parity = compare(net.evaluate(planes), answers).check(TOLERANCES[options.precision])
    size = request.batch.best
    batch = np.ascontiguousarray(np.resize(planes, (size, *planes.shape[1:])))
    net.evaluate(batch)
    start = time.perf_counter()
    for _ in range(TIMED_CALLS):
        net.evaluate(batch)
    return parity, TIMED_CALLS * size / (time.perf_counter() - start)


FORMAT = ExportFormat(
    suffix=".engine", write=write_tensorrt, precisions=("fp32", "fp16"), plugin_op=True
)
