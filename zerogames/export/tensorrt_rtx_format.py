"""`zerogames export --format tensorrt-rtx`: an engine for NVIDIA's RTX cards, built on any machine.

TensorRT for RTX compiles for the card when the engine is first loaded there, so building needs no
GPU. It has no plugins: masked layers are plain convolutions.
"""

import time
from dataclasses import replace

from zerogames.export.engine import build_engine, load_module
from zerogames.export.formats import ExportFormat
from zerogames.export.onnx_format import make_checked_onnx
from zerogames.export.request import ExportReport, ExportRequest
from zerogames.export.tensorrt_format import find_gpu, save_engine


def write_rtx(request: ExportRequest) -> ExportReport:
    """Build an engine, run it if there is a GPU, and write it."""
    trt = load_module("tensorrt-rtx")
    model, parity = make_checked_onnx(request, board_op=False)
    start = time.perf_counter()
    engine = build_engine(trt, model, request.batch)
    note = f"built in {time.perf_counter() - start:.1f} s"
    run, builder = bool(find_gpu()), f"tensorrt-rtx {trt.__version__}"
    report = save_engine(request, engine, builder, run=run, note=note)
    if run:
        return report
    unchecked = "not run: there is no NVIDIA GPU here; the answers compared are onnxruntime's"
    return replace(report, parity=parity, notes=(*report.notes, unchecked))


FORMAT = ExportFormat(suffix=".rtx.engine", write=write_rtx, precisions=("fp32", "fp16"))
