"""The CUDA source: compiled by nvcc, and its arithmetic run on the CPU against the slices."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from zerogames_kernels import Pattern, cuda, random_pattern, reference, square_pattern
from zerogames_kernels.depthwise import dense_gradients
from zerogames_kernels.groups import flatten_offsets
from zerogames_kernels.layer import DepthwiseLayer

ROOK = Pattern.from_mask("rook", "00100 00100 11111 00100 00100")
BISHOP = Pattern.from_mask("bishop", "10001 01010 00100 01010 10001")
KNIGHT = Pattern.from_mask("knight", "01010 10001 00100 10001 01010")
LAYERS = {
    "krb": [KNIGHT, ROOK, BISHOP],
    "5x5": [square_pattern(5)],
    "1x1": [square_pattern(1)],
    "random": [random_pattern(seed, taps=6) for seed in range(4)],
}
SHAPES = [(1, 4, 8, 8), (3, 7, 8, 8), (2, 9, 5, 5), (1, 5, 19, 19), (2, 4, 3, 11), (1, 4, 25, 25)]
KERNELS = ("dense", "opti1", "opti2")


def compile_for_cpu(source: str, folder: Path) -> ctypes.CDLL:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    copy, library = folder / "kernel.cu", folder / "kernel.so"
    copy.write_text(source)
    shim = cuda.source_path().with_name("cpu_shim.hpp")
    options = ["-std=c++20", "-O0", "-Wno-unknown-pragmas", "-fPIC", "-shared"]
    command = ["g++", *options, "-include", str(shim), "-x", "c++", str(copy), "-o", str(library)]
    subprocess.run(command, check=True)
    return cuda.declare(ctypes.CDLL(str(library)))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_for_cpu(cuda.source_path().read_text(), tmp_path_factory.mktemp("cuda"))


def largest_error(
    library: ctypes.CDLL,
    form: str,
    layer: str,
    shape: tuple[int, int, int, int],
    dtype: torch.dtype,
    relu: bool = False,
) -> float:
    generator = torch.Generator().manual_seed(7)
    offsets = [pattern.offsets for pattern in LAYERS[layer]]
    x = torch.randn(shape, generator=generator).to(dtype)
    weight = torch.randn(shape[1], len(offsets[0]), generator=generator).to(dtype)
    bias = torch.randn(shape[1], generator=generator).to(dtype)
    expected = reference.slices(x.float(), weight.float(), offsets, bias.float(), relu=relu)
    flat = flatten_offsets(offsets)
    # New memory may hold the right answer of an earlier call: let torch fill it with NaN, so that
    # an output which is never written shows.
    torch.use_deterministic_algorithms(True)
    try:
        y = cuda.call(
            library, x, DepthwiseLayer(weight, bias, flat, len(offsets), relu, form), 0
        ).float()
    finally:
        torch.use_deterministic_algorithms(False)
    return float((y - expected).abs().max())


TOLERANCE = {torch.float32: 2e-5, torch.float16: 0.06}


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=["half", "float"])
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("form", KERNELS)
def test_every_form_equals_the_slices(
    library: ctypes.CDLL, form: str, layer: str, dtype: torch.dtype
) -> None:
    for number, shape in enumerate(SHAPES):
        error = largest_error(library, form, layer, shape, dtype, relu=number % 2 == 0)
        assert error < TOLERANCE[dtype], shape


def test_no_bias_and_an_empty_batch(library: ctypes.CDLL) -> None:
    x, weight = torch.randn(2, 3, 8, 8), torch.randn(3, 9)
    offsets = [ROOK.offsets]
    for form in KERNELS:
        layer = DepthwiseLayer(weight, None, flatten_offsets(offsets), 1, False, form)
        y = cuda.call(library, x, layer, 0)
        torch.testing.assert_close(y, reference.slices(x, weight, offsets), rtol=1e-5, atol=1e-5)
        empty = cuda.call(library, x[:0], layer, 0)
        assert empty.shape == (0, 3, 8, 8)


def test_what_the_kernels_cannot_run_is_refused(library: ctypes.CDLL) -> None:
    taps = flatten_offsets([ROOK.offsets])
    layer = DepthwiseLayer(torch.zeros(3, 9), None, taps, 1, False, "opti2")
    with pytest.raises(RuntimeError, match="out of range"):
        cuda.call(library, torch.zeros(1, 3, 26, 8), layer, 0)
    x = torch.zeros(1, 3, 8, 8, dtype=torch.float64)
    with pytest.raises(TypeError, match="float16 or float32"):
        cuda.call(library, x, DepthwiseLayer(x, None, taps, 1, False, "opti2"), 0)


MUTANTS = {
    "wrong tap": (
        "layer.row[low] * planes.padded_width()",
        "-layer.row[low] * planes.padded_width()",
    ),
    "missing barrier in opti1": ("planes.load_bias();\n  __syncthreads();", "planes.load_bias();"),
    "missing barrier in opti2": ("__syncwarp();", ""),
    "missing barrier in baseline": ("= 0.0f;\n  __syncthreads();", "= 0.0f;"),
    "wrong channel pairing": ("2 * (index % pairs)", "index % pairs"),
    "missing bias": ("mine = planes.load_bias();", ""),
    "second channel forgotten": ("if (second) tensors.y", "if (false) tensors.y"),
}


QUICK = ("wrong tap", "missing barrier in opti1", "wrong channel pairing", "missing bias")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in MUTANTS],
)
def test_planted_bugs_are_caught(name: str, tmp_path: Path) -> None:
    source = cuda.source_path().read_text()
    old, new = MUTANTS[name]
    assert source.count(old) == 1
    mutant = compile_for_cpu(source.replace(old, new), tmp_path)
    errors = [largest_error(mutant, form, "krb", (2, 7, 8, 8), torch.float32) for form in KERNELS]
    # Not a number is an error too.
    assert not all(error < 1e-3 for error in errors)


def compile_with_nvcc(architecture: str, folder: Path) -> str:
    nvcc = cuda.find_nvcc()
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    command = [nvcc, "-std=c++17", "-O3", f"-arch={architecture}", "-Xptxas", "-v", "-cubin"]
    command += [str(cuda.source_path()), "-o", str(folder / f"{architecture}.cubin")]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def check_no_spills(output: str) -> None:
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", output)
    assert len(spills) == 10  # (baseline + two sizes of opti1 and opti2) in two precisions
    assert set(spills) == {("0", "0")}, output


def test_compiles_without_spills(tmp_path: Path) -> None:
    check_no_spills(compile_with_nvcc("sm_75", tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", cuda.ARCHITECTURES[1:])
def test_compiles_for_every_architecture(architecture: str, tmp_path: Path) -> None:
    check_no_spills(compile_with_nvcc(architecture, tmp_path))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_gradients_used_on_a_gpu_equal_the_native_ones(layout: torch.memory_format) -> None:
    offsets = flatten_offsets([pattern.offsets for pattern in LAYERS["krb"]])
    x = torch.randn(3, 10, 6, 7).contiguous(memory_format=layout)
    weight, grad, y = torch.randn(10, 9), torch.randn_like(x), torch.randn_like(x)
    for needs in ([True, True, True], [True, False, False], [False, True, True]):
        torch.testing.assert_close(
            dense_gradients(grad, y, x, DepthwiseLayer(weight, None, offsets, 3), needs),
            torch.ops.zerogames.board_depthwise_backward(grad, y, x, weight, offsets, 3, needs),
            rtol=1e-4,
            atol=1e-4,
        )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("form", ["opti1", "opti2"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_on_a_gpu(form: str, dtype: torch.dtype) -> None:
    from zerogames_kernels.modules import BoardDepthwise

    layer = BoardDepthwise(10, LAYERS["krb"], bias=True, form=form).to("cuda", dtype)
    x = torch.randn(3, 10, 8, 8, device="cuda", dtype=dtype, requires_grad=True)
    expected = reference.slices(x.float(), layer.weight.float(), layer.offsets, layer.bias)
    assert float((layer(x).float() - expected).abs().max()) < TOLERANCE[dtype]
    layer(x).sum().backward()
