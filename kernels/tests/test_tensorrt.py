"""The TensorRT plugin, used as TensorRT uses it; its kernels run on the CPU through the shim.

`tests/tensorrt/NvInferRuntime.h` declares the interfaces by hand where TensorRT's own headers are
missing. With `TENSORRT_INCLUDE` set, the plugin is compiled against those as well.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from zerogames_kernels import Pattern, cuda, random_pattern, reference, square_pattern
from zerogames_kernels.groups import flatten_offsets

HERE = Path(__file__).parent
PLUGIN = HERE.parent / "tensorrt"
DECLARATIONS = HERE / "tensorrt"
STRICT = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]
KRB = [
    Pattern.from_mask("knight", "01010 10001 00100 10001 01010"),
    Pattern.from_mask("rook", "00100 00100 11111 00100 00100"),
    Pattern.from_mask("bishop", "10001 01010 00100 01010 10001"),
]
LAYERS = {
    "krb": KRB,
    "random": [random_pattern(seed, taps=6) for seed in range(4)],
    "5x5": [square_pattern(5)],
    "1x1": [square_pattern(1)],
}
SHAPES = [(2, 7, 8, 8), (1, 5, 19, 19), (3, 4, 3, 11), (0, 6, 8, 8), (1, 4, 25, 25)]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path_factory.mktemp("tensorrt")
    kernel, library = folder / "kernel.o", folder / "plugin.so"
    source = cuda.source_path()
    shim = ["-include", str(source.with_name("cpu_shim.hpp")), "-x", "c++", str(source)]
    command = ["g++", "-std=c++20", "-O0", "-Wno-unknown-pragmas", "-fPIC", "-c"]
    subprocess.run([*command, *shim, "-o", str(kernel)], check=True)
    sources = [PLUGIN / "plugin.cpp", PLUGIN / "board_depthwise_layer.cpp"]
    sources.append(DECLARATIONS / "driver.cpp")
    command = ["g++", *STRICT, "-O0", "-fPIC", "-shared", f"-I{DECLARATIONS}", f"-I{PLUGIN}"]
    subprocess.run([*command, *map(str, sources), str(kernel), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.take_messages.restype = ctypes.c_char_p
    return loaded


def integers(values: list[int]) -> ctypes.Array[ctypes.c_int]:
    return (ctypes.c_int * len(values))(*values)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=["half", "float"])
@pytest.mark.parametrize("layer", LAYERS)
def test_a_stored_layer_answers_like_the_reference(
    plugin: ctypes.CDLL, layer: str, dtype: torch.dtype
) -> None:
    offsets = [pattern.offsets for pattern in LAYERS[layer]]
    flat, taps = flatten_offsets(offsets), len(offsets[0])
    generator = torch.Generator().manual_seed(5)
    for number, shape in enumerate(SHAPES):
        x = torch.randn(shape, generator=generator).to(dtype)
        weight = torch.randn(shape[1], taps, generator=generator).to(dtype)
        bias = torch.randn(shape[1], generator=generator).to(dtype)
        relu = number % 2 == 0
        y = torch.full_like(x, torch.nan)
        sizes = (len(offsets), shape[1], taps, int(relu), int(dtype == torch.float16), shape[0])
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, weight, bias, y)]
        step = plugin.run(integers(flat), len(flat), *sizes, shape[2], shape[3], *pointers)
        assert step == 0, (shape, plugin.take_messages())
        right = reference.slices(x.float(), weight.float(), offsets, bias.float(), relu=relu)
        tolerance = 0.06 if dtype == torch.float16 else 2e-5
        assert torch.allclose(y.float(), right, rtol=0, atol=tolerance), shape


ROOK = flatten_offsets([KRB[1].offsets])


@pytest.mark.parametrize(
    ("offsets", "groups", "channels", "message"),
    [
        ([0, 0], 0, 4, "1 to 32 groups"),
        ([0, 0] * 33, 33, 64, "1 to 32 groups"),
        ([0, 0] * 3, 3, 2, "2 channels cannot be shared by 3 groups"),
        ([0, 0, 1], 1, 4, "3 offsets are not rows and columns"),
        ([0, 0, 0, 1, 1, 1], 2, 4, "equally many taps"),
        ([], 1, 4, "0 offsets"),
        ([0, 3], 1, 4, "(0, 3) lies outside the 5x5 window"),
        ([1, 1, 1, 1], 1, 4, "same tap twice"),
    ],
)
def test_layers_that_cannot_be_are_refused_with_the_reason(
    plugin: ctypes.CDLL, offsets: list[int], groups: int, channels: int, message: str
) -> None:
    assert plugin.make(integers(offsets), len(offsets), groups, channels) == 1
    assert message in plugin.take_messages().decode()


def test_wrong_and_missing_attributes_are_named(plugin: ctypes.CDLL) -> None:
    assert plugin.make_from_wrong_fields(1) == 1
    assert b"'offsets' must be 32-bit integers" in plugin.take_messages()
    assert plugin.make_from_wrong_fields(0) == 1
    assert b"'offsets' is missing" in plugin.take_messages()


def test_tensors_that_do_not_fit_are_refused_with_the_reason(plugin: ctypes.CDLL) -> None:
    def run(taps: int, height: int) -> tuple[int, str]:
        step = plugin.run(
            integers(ROOK), len(ROOK), 1, 4, taps, 0, 0, 1, height, 8, None, None, None, None
        )
        return step, plugin.take_messages().decode()

    step, message = run(taps=8, height=8)
    assert step == 6
    assert "the weight must be [4, 9], not [4, 8]" in message
    step, message = run(taps=9, height=26)
    assert step == 6
    assert "boards are 1x1 to 25x25, not [26, 8]" in message


def test_only_contiguous_tensors_of_one_type_are_taken(plugin: ctypes.CDLL) -> None:
    float_linear, half_linear = 1 << 0, 1 << 2
    assert plugin.formats(0) == float_linear | half_linear
    for position in (1, 2, 3):
        assert plugin.formats(position) == half_linear


def undefined_symbols(library: Path) -> list[str]:
    command = ["nm", "--dynamic", "--undefined-only", str(library)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in output.splitlines()]


def build_plugin(folder: Path, include: Path) -> Path:
    """Build the library as a user does."""
    if cuda.find_nvcc() is None:
        pytest.skip("nvcc is not installed")
    options = [f"-DTENSORRT_INCLUDE={include}", "-DCMAKE_CUDA_ARCHITECTURES=75"]
    options.append(f"-DCMAKE_CUDA_COMPILER={cuda.find_nvcc()}")
    quiet: Callable[..., object] = subprocess.run
    quiet(["cmake", "-S", PLUGIN, "-B", folder, *options], check=True, capture_output=True)
    quiet(["cmake", "--build", folder], check=True, capture_output=True)
    return folder / "libzerogames_tensorrt.so"


def check_library(library: Path) -> None:
    assert not [name for name in undefined_symbols(library) if "nvinfer" in name.lower()]
    loaded = ctypes.CDLL(str(library))  # all it needs is found
    assert loaded.getCreators
    assert loaded.setLoggerFinder
    with pytest.raises(AttributeError):
        assert loaded.zerogames_board_depthwise  # nothing else is exported


@pytest.mark.slow
def test_cmake_builds_a_library_that_needs_no_tensorrt(tmp_path: Path) -> None:
    check_library(build_plugin(tmp_path, DECLARATIONS))


def test_cmake_says_how_to_get_the_headers(tmp_path: Path) -> None:
    if cuda.find_nvcc() is None:
        pytest.skip("nvcc is not installed")
    command = ["cmake", "-S", PLUGIN, "-B", tmp_path, "-DCMAKE_FIND_ROOT_PATH=/nowhere"]
    command += ["-DCMAKE_CUDA_ARCHITECTURES=75", f"-DCMAKE_CUDA_COMPILER={cuda.find_nvcc()}"]
    command += ["-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "libnvinfer-headers-dev" in result.stderr


def test_compiles_against_tensorrts_own_headers(tmp_path: Path) -> None:
    include = os.environ.get("TENSORRT_INCLUDE")
    if not include:
        pytest.skip("TensorRT's headers are not here (set TENSORRT_INCLUDE)")
    check_library(build_plugin(tmp_path, Path(include)))
