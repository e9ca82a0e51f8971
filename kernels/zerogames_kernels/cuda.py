"""The CUDA kernels: compiled by nvcc when they are first used, called through their C interface.

The source compiles for sm_75 to sm_120 and its arithmetic is tested on the CPU through
`cuda/cpu_shim.hpp`; it has not been run or timed on a GPU.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch

from zerogames_kernels.layer import DepthwiseLayer
from zerogames_kernels.sources import source_folder

FORMS = {"dense": 0, "opti1": 1, "opti2": 2, "native": 2}
"""The number each form has in the C interface; `dense` is its baseline kernel."""

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def source_path() -> Path:
    """Return where `board_depthwise.cu` lies: in a checkout, else in the installed package."""
    return source_folder("cuda") / "board_depthwise.cu"


def find_nvcc() -> str | None:
    """Return the path of nvcc, from PATH or the usual folder."""
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Tell ctypes the signature of the launch function."""
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    function = library.zerogames_board_depthwise
    function.restype = integer
    function.argtypes = [integer] * 2 + [pointer] * 4 + [integer] * 4 + [pointer] + [integer] * 3
    function.argtypes += [pointer]
    return library


@cache
def load_library(architecture: str) -> ctypes.CDLL:
    """Compile the kernels for `architecture` (once per source and user) and load them."""
    nvcc = find_nvcc()
    if nvcc is None:
        raise RuntimeError("the CUDA kernels need nvcc on PATH; use form='dense' without it")
    source = source_path()
    key = hashlib.sha256(source.read_bytes() + architecture.encode()).hexdigest()[:16]
    folder = Path(os.path.expanduser("~/.cache/zerogames"))
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"board_depthwise_{architecture}_{key}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            built = Path(work) / library.name
            options = [
                "-std=c++17",
                "-O3",
                f"-arch={architecture}",
                "-shared",
                "-Xcompiler",
                "-fPIC",
            ]
            command = [nvcc, *options, str(source), "-o", str(built)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise RuntimeError(f"nvcc failed on {source}: {result.stderr.strip()[-500:]}")
            built.replace(library)
    return declare(ctypes.CDLL(str(library)))


def call(library: ctypes.CDLL, x: torch.Tensor, layer: DepthwiseLayer, stream: int) -> torch.Tensor:
    """Run a layer on contiguous tensors of one type, float16 or float32."""
    weight, bias, offsets, groups, relu, form = layer
    precision = {torch.float16: 16, torch.float32: 32}.get(x.dtype)
    if precision is None:
        raise TypeError(f"the CUDA kernels run in float16 or float32, not {x.dtype}")
    y = torch.empty_like(x)
    batch, channels, height, width = x.shape
    error = library.zerogames_board_depthwise(
        FORMS[form],
        precision,
        x.data_ptr(),
        weight.data_ptr(),
        None if bias is None else bias.data_ptr(),
        y.data_ptr(),
        batch,
        channels,
        height,
        width,
        (ctypes.c_int * len(offsets))(*offsets),
        groups,
        len(offsets) // (2 * groups),
        int(relu),
        stream,
    )
    if error != 0:
        raise RuntimeError(
            f"the depthwise kernel failed with code {error} (-1: shape out of range, else CUDA's)"
        )
    return y


def run(x: torch.Tensor, layer: DepthwiseLayer) -> torch.Tensor:
    """Run a layer on the current stream of the device of `x`."""
    with torch.cuda.device(x.device):
        major, minor = torch.cuda.get_device_capability(x.device)
        library = load_library(f"sm_{major}{minor}")
        stream = torch.cuda.current_stream(x.device).cuda_stream
        bias = None if layer.bias is None else layer.bias.contiguous()
        layer = layer._replace(weight=layer.weight.contiguous(), bias=bias)
        return call(library, x.contiguous(), layer, stream)
