"""`zerogames export --format tensorrt-rtx`: an engine for NVIDIA's RTX cards, built on any machine.

TensorRT for RTX compiles for the card when the engine is first loaded there, so building needs no
GPU. It has no plugins: masked layers are plain convolutions.
"""

import time

from zerogames.export.engine import build_engine, load_module
from zerogames.export.formats import ExportFormat, ExportRequest
from zerogames.export.onnx_format import make_checked_onnx, say
from zerogames.export.tensorrt_format import find_gpu, save_engine


def write_rtx(request: ExportRequest) -> int:
    """Build an engine, run it if there is a GPU, and write it."""
    trt = load_module("tensorrt-rtx")
    model = make_checked_onnx(request, board_op=False)
    start = time.perf_counter()
    engine = build_engine(trt, model, request.batch)
    seconds = time.perf_counter() - start
    gpu = find_gpu()
    save_engine(request, engine, builder="tensorrt-rtx", version=trt.__version__, run=bool(gpu))
    say(request, f"built in {seconds:.1f} s")
    if not gpu:
        say(request, "not run: there is no NVIDIA GPU here; the answers above are onnxruntime's")
    return 0


FORMAT = ExportFormat(suffix=".rtx.engine", write=write_rtx, precisions=("fp32", "fp16"))
