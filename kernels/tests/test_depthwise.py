"""The depthwise operator in every form against shifted slices of the padded input."""

import subprocess
import sys
import textwrap

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from zerogames_kernels import (
    Pattern,
    group_offsets,
    native,
    random_pattern,
    reference,
    square_pattern,
)
from zerogames_kernels.depthwise import board_depthwise

ROOK = Pattern.from_mask("rook", "00100 00100 11111 00100 00100")
BISHOP = Pattern.from_mask("bishop", "10001 01010 00100 01010 10001")
KNIGHT = Pattern.from_mask("knight", "01010 10001 00100 10001 01010")
KRB = [KNIGHT, ROOK, BISHOP]
LAYERS = {
    "krb": KRB,
    "rb": [ROOK, BISHOP],
    "1x1": [square_pattern(1)],
    "3x3": [square_pattern(3)],
    "5x5": [square_pattern(5)],
    "random": [random_pattern(seed, taps=7) for seed in range(5)],
    "single taps": [Pattern(f"tap {i}", ((i // 5 - 2, i % 5 - 2),)) for i in range(25)],
}
FORMATS = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}


def make_case(
    layer: str, shape: tuple[int, int, int, int], layout: str, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[list[tuple[int, int]]]]:
    offsets = group_offsets(LAYERS[layer])
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator)
    weight = torch.randn(shape[1], len(offsets[0]), generator=generator)
    bias = torch.randn(shape[1], generator=generator)
    return x.contiguous(memory_format=FORMATS[layout]), weight, bias, offsets


def check_case(
    layer: str, shape: tuple[int, int, int, int], layout: str, *, bias: bool, relu: bool
) -> None:
    x, weight, b, offsets = make_case(layer, shape, layout)
    inputs = [t.requires_grad_() for t in ([x, weight, b] if bias else [x, weight])]
    expected = reference.slices(x, weight, offsets, b if bias else None, relu=relu)
    y = board_depthwise(x, weight, offsets, b if bias else None, relu=relu)
    torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
    assert y.stride() == x.stride()
    if y.numel() == 0:
        return
    grad = torch.randn_like(expected)
    # Where the sums nearly cancel, the forms may differ on which side of zero they are.
    grad = torch.where(expected.abs() < 1e-4, 0, grad)
    torch.testing.assert_close(
        torch.autograd.grad(y, inputs, grad),
        torch.autograd.grad(expected, inputs, grad),
        rtol=1e-4,
        atol=2e-4,
    )


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    layer=st.sampled_from(sorted(LAYERS.keys() - {"single taps"})),
    shape=st.tuples(
        st.integers(0, 5) | st.sampled_from([17, 40]),
        st.integers(5, 40),
        st.integers(2, 13),
        st.integers(2, 13),
    ),
    layout=st.sampled_from(sorted(FORMATS)),
    bias=st.booleans(),
    relu=st.booleans(),
)
def test_values_and_gradients_equal_the_slices(
    layer: str, shape: tuple[int, int, int, int], layout: str, bias: bool, relu: bool
) -> None:
    check_case(layer, shape, layout, bias=bias, relu=relu)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("size", [1, *range(14, 26)])
def test_large_and_single_square_boards(size: int, layout: str) -> None:
    check_case("krb", (2, 9, size, size), layout, bias=True, relu=False)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("width", range(1, 26))
def test_every_tap_on_every_width(width: int, layout: str) -> None:
    # 17 channels a tap: a whole register and a remainder at every CPU level.
    check_case("single taps", (1, 25 * 17, 3, width), layout, bias=True, relu=True)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("channels", [48, 96, 100, 256, 509, 512, 576])
def test_groups_of_whole_and_partial_registers(channels: int, layout: str) -> None:
    check_case("krb", (2, channels, 8, 8), layout, bias=True, relu=False)
    check_case("random", (1, channels, 5, 19), layout, bias=False, relu=False)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("relu", [True, False])
def test_bfloat16_boards_round_only_what_they_give(layer: str, layout: str, relu: bool) -> None:
    x, weight, bias, offsets = make_case(layer, (3, 77, 8, 5), layout)
    half, plain = x.bfloat16(), x.bfloat16().float()
    results = []
    for board in (half, plain):
        inputs = [board.requires_grad_(), weight.requires_grad_(), bias.requires_grad_()]
        y = board_depthwise(board, weight, offsets, bias, relu=relu)
        grad = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).bfloat16()
        results.append((y, *torch.autograd.grad(y, inputs, grad.to(y.dtype))))
    (y, grad_x, *grads), (expected, expected_x, *expected_grads) = results
    assert y.stride() == x.stride()
    for ours, theirs in ((y, expected), (grad_x, expected_x)):
        # Sums that nearly cancel aside, the nearest bfloat16.
        torch.testing.assert_close(ours, theirs.bfloat16(), rtol=2**-7, atol=1e-5)
    torch.testing.assert_close(grads, expected_grads, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layer", LAYERS)
def test_dense_form_equals_the_slices(layer: str) -> None:
    x, weight, bias, offsets = make_case(layer, (3, 26, 8, 8), "nchw")
    expected = reference.slices(x, weight, offsets, bias, relu=True)
    y = reference.dense(x, weight, offsets, bias, relu=True)
    torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)


def test_other_layouts_are_copied_not_misread() -> None:
    x, weight, _, offsets = make_case("krb", (4, 9, 8, 8), "nchw")
    for other in (
        x.transpose(2, 3),
        x[:, :, ::2],
        x[::2].contiguous().flip(0),
        x.expand(4, 9, 8, 8),
    ):
        torch.testing.assert_close(
            board_depthwise(other, weight, offsets),
            reference.slices(other, weight, offsets),
            rtol=1e-5,
            atol=1e-5,
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("layout", "relu"), [("nchw", True), ("channels_last", False)])
def test_operator_keeps_the_rules_of_torch_library(
    layout: str, relu: bool, dtype: torch.dtype
) -> None:
    x, weight, bias, offsets = make_case("krb", (2, 7, 4, 5), layout)
    x = x.to(dtype)
    flat = [part for taps in offsets for tap in taps for part in tap]
    for tensor in (x, weight, bias):
        tensor.requires_grad_()
    operator = torch.ops.zerogames.board_depthwise.default
    torch.library.opcheck(operator, (x, weight, bias if relu else None, flat, 3, relu, "native"))


def test_gradients_by_finite_differences() -> None:
    x, weight, bias, offsets = make_case("krb", (1, 4, 3, 4), "channels_last")
    for tensor in (x, weight, bias):
        tensor.requires_grad_()
    # The operator is linear in each input, so large steps lose nothing in single precision.
    with pytest.warns(UserWarning, match="not a double precision"):
        assert torch.autograd.gradcheck(
            lambda *inputs: board_depthwise(inputs[0], inputs[1], offsets, inputs[2]),
            (x, weight, bias),
            eps=1e-1,
            atol=1e-3,
            rtol=1e-3,
        )


def test_second_derivatives_are_refused() -> None:
    x, weight, _, offsets = make_case("krb", (1, 4, 3, 4), "nchw")
    x.requires_grad_()
    y = board_depthwise(x, weight.requires_grad_(), offsets)
    (grad,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        grad.sum().backward()


def test_number_of_threads_does_not_change_a_bit() -> None:
    x, weight, bias, offsets = make_case("krb", (37, 50, 8, 8), "channels_last")
    inputs = [x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_()]
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            y = board_depthwise(x, weight, offsets, bias)
            results.append((y, *torch.autograd.grad(y.square().sum(), inputs)))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert torch.equal(a, b)


def test_not_a_number_is_not_hidden_by_the_relu() -> None:
    x, weight, _, offsets = make_case("3x3", (1, 1, 4, 4), "nchw")
    x[0, 0, 0, 0] = float("nan")
    assert board_depthwise(x, weight, offsets, relu=True).isnan().any()


def test_wrong_shapes_and_types_are_named() -> None:
    x, weight, bias, offsets = make_case("krb", (1, 6, 4, 4), "nchw")
    with pytest.raises(ValueError, match=r"6 channels with 9 taps need \[6, 9\]"):
        board_depthwise(x, weight[:, :8], offsets)
    with pytest.raises(ValueError, match=r"bias has shape \[5\]"):
        board_depthwise(x, weight, offsets, bias[:5])
    with pytest.raises(TypeError, match="float32"):
        board_depthwise(x.double(), weight.double(), offsets)
    with pytest.raises(TypeError, match="must agree"):
        board_depthwise(x, weight.double(), offsets)
    with pytest.raises(TypeError, match="must be float32"):
        board_depthwise(x.bfloat16(), weight.bfloat16(), offsets)
    with pytest.raises(ValueError, match="1 to 25 rows and columns"):
        board_depthwise(torch.zeros(1, 6, 26, 4), weight, offsets)
    with pytest.raises(ValueError, match=r"\[B, C, H, W\]"):
        board_depthwise(x[0], weight, offsets)
    with pytest.raises(ValueError, match="cannot be split"):
        board_depthwise(x[:, :2], weight[:2], offsets)


@pytest.mark.parametrize("level", native.LEVELS)
def test_every_cpu_level_agrees_with_the_slices(level: str) -> None:
    if native.LEVELS.index(level) > native.LEVELS.index(native.cpu_level()):
        pytest.skip(f"this CPU does not run level {level}")
    code = f"""
        from zerogames_kernels import native
        native.limit_level({level!r})
        import torch
        from zerogames_kernels import random_pattern, reference, _depthwise
        from zerogames_kernels.depthwise import board_depthwise
        assert _depthwise.__name__.endswith({level!r}), _depthwise.__name__
        offsets = [random_pattern(seed).offsets for seed in range(3)]
        for layout in (torch.contiguous_format, torch.channels_last):
            x = torch.randn(5, 71, 8, 9).contiguous(memory_format=layout).requires_grad_()
            weight = torch.randn(71, 9, requires_grad=True)
            y, expected = board_depthwise(x, weight, offsets), reference.slices(x, weight, offsets)
            torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
            grads = [torch.autograd.grad(v.square().sum(), (x, weight)) for v in (y, expected)]
            torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-3)
            # One tap, one product: the rounding to bfloat16 is torch's, to the bit.
            half = torch.randn(5, 71, 8, 9).bfloat16().contiguous(memory_format=layout)
            half[0, :, 0, :4] = torch.tensor([float("nan"), float("inf"), 3e38, 1e-40])
            factor = torch.randn(71, 1)
            y = board_depthwise(half, factor, [[(0, 0)]])
            expected = (half.float() * factor[:, :, None]).bfloat16()
            torch.testing.assert_close(y, expected, rtol=0, atol=0, equal_nan=True)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
