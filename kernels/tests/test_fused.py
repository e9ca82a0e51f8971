"""The fused training operators against the plain torch layers they stand for."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from zerogames_kernels import Pattern, random_pattern, reference, square_pattern
from zerogames_kernels.groups import flatten_offsets
from zerogames_kernels.modules import (
    BatchNormReLU,
    BoardDepthwise,
    norm_depthwise_norm,
    norm_relu,
)

KNIGHT = Pattern.from_mask("knight", "01010 10001 00100 10001 01010")
PATTERNS = [KNIGHT, square_pattern(3), random_pattern(5)]
FORMATS = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}


def make_norm(channels: int, gamma: bool, generator: torch.Generator) -> nn.BatchNorm2d:
    norm = BatchNormReLU(channels, gamma=gamma, momentum=0.3)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.copy_(torch.randn(channels, generator=generator))
    return norm


def plain_norm(x: torch.Tensor, norm: nn.BatchNorm2d) -> torch.Tensor:
    """What torch does, in double precision, on a copy of the norm's running statistics."""
    return nn.functional.batch_norm(
        x,
        norm.running_mean,
        norm.running_var,
        norm.weight,
        norm.bias,
        training=True,
        momentum=norm.momentum or 0.0,
        eps=norm.eps,
    )


def check_close(fast: list[torch.Tensor], plain: list[torch.Tensor]) -> None:
    for a, b in zip(fast, plain, strict=True):
        scale = max(1.0, float(b.detach().abs().max()))
        torch.testing.assert_close(a.double() / scale, b.double() / scale, rtol=1e-4, atol=1e-5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    shape=st.tuples(
        st.integers(2, 6) | st.just(40),
        st.integers(3, 40),
        st.integers(1, 11),
        st.integers(1, 11),
    ),
    layout=st.sampled_from(sorted(FORMATS)),
    gammas=st.tuples(st.booleans(), st.booleans()),
    norm_input=st.booleans(),
    mean=st.sampled_from([0.0, 3.0, 100.0]),
    seed=st.integers(0, 99),
)
def test_depthwise_between_batch_norms_equals_plain_torch(
    shape: tuple[int, int, int, int],
    layout: str,
    gammas: tuple[bool, bool],
    norm_input: bool,
    mean: float,
    seed: int,
) -> None:
    channels = shape[1]
    torch.manual_seed(seed)  # for the layer's weights
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator) + mean * norm_input
    x = x.contiguous(memory_format=FORMATS[layout]).requires_grad_()
    norms = [make_norm(channels, gamma, generator) for gamma in gammas]
    depthwise = BoardDepthwise(channels, PATTERNS)
    grad = torch.randn(shape, generator=generator)

    plain_norms = [copy.deepcopy(norm).double() for norm in norms]
    x64 = x.detach().double().requires_grad_()
    weight64 = depthwise.weight.detach().double().requires_grad_()
    inner = plain_norm(x64, plain_norms[0]) if norm_input else x64
    middle = reference.slices(inner.relu() if norm_input else inner, weight64, depthwise.offsets)
    before_relu = plain_norm(middle, plain_norms[1])
    # Values so near to zero that single precision may see them on the other side pass no gradient.
    near_inner = (inner.abs() < 1e-4).any() if norm_input else torch.tensor(False)
    grad = torch.where(before_relu.abs() < 1e-3, 0, grad)
    expected = before_relu.relu()

    y = norm_depthwise_norm(x, norms[0] if norm_input else None, depthwise, norms[1])
    check_close([y], [expected])
    assert y.stride() == x.stride()
    used = norms if norm_input else norms[1:]
    plain_used = plain_norms if norm_input else plain_norms[1:]
    for norm, plain in zip(used, plain_used, strict=True):
        assert norm.running_mean is not None
        assert plain.running_mean is not None
        assert norm.running_var is not None
        assert plain.running_var is not None
        check_close([norm.running_mean, norm.running_var], [plain.running_mean, plain.running_var])
        assert int(norm.num_batches_tracked or 0) == 1
    # With a (nearly) constant channel the gradient is ill-conditioned in any precision.
    if near_inner or float(middle.detach().var((0, 2, 3)).min()) < 1e-3:
        return
    fast = [x, depthwise.weight, *(p for norm in used for p in norm.parameters())]
    slow = [x64, weight64, *(p for norm in plain_used for p in norm.parameters())]
    check_close(
        list(torch.autograd.grad(y, fast, grad)),
        list(torch.autograd.grad(expected, slow, grad.double())),
    )


def relative_error(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.detach().double(), b.detach().double()
    return float((a - b).norm() / b.norm())


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("norm_input", [True, False])
@pytest.mark.parametrize(
    ("patterns", "shape"),
    [
        (PATTERNS, (3, 5, 8, 8)),
        (PATTERNS, (40, 71, 8, 8)),
        ([KNIGHT], (7, 33, 5, 9)),
        ([square_pattern(3)], (17, 48, 6, 7)),
        ([square_pattern(5)], (2, 40, 19, 19)),
        ([random_pattern(seed, taps=7) for seed in range(3)], (9, 256, 3, 4)),
    ],
)
def test_bfloat16_boards_differ_from_float32_by_their_rounding(
    patterns: list[Pattern], shape: tuple[int, int, int, int], norm_input: bool, layout: str
) -> None:
    channels = shape[1]
    generator = torch.Generator().manual_seed(channels)
    torch.manual_seed(channels)
    x = (torch.randn(shape, generator=generator) + 1).contiguous(memory_format=FORMATS[layout])
    half, plain = (t.requires_grad_() for t in (x.bfloat16(), x.bfloat16().float()))
    norms = [make_norm(channels, gamma, generator) for gamma in (False, True)]
    depthwise = BoardDepthwise(channels, patterns)
    plain_norms, plain_depthwise = copy.deepcopy((norms, depthwise))
    y = norm_depthwise_norm(half, norms[0] if norm_input else None, depthwise, norms[1])
    expected = norm_depthwise_norm(
        plain, plain_norms[0] if norm_input else None, plain_depthwise, plain_norms[1]
    )
    assert y.dtype == torch.bfloat16
    assert y.stride() == half.stride()
    assert relative_error(y, expected) < 1e-2
    used = norms if norm_input else norms[1:]
    used_plain = plain_norms if norm_input else plain_norms[1:]
    for norm, other in zip(used, used_plain, strict=True):
        torch.testing.assert_close(norm.state_dict(), other.state_dict(), rtol=1e-5, atol=1e-6)
    # Where the rounding may decide on which side of zero a value is, no gradient passes.
    grad = torch.randn(shape, generator=generator).bfloat16()
    grad = torch.where((y - expected).abs() + expected.abs() < 0.1, 0, grad)
    fast = torch.autograd.grad(
        y, [half, depthwise.weight, *(p for norm in used for p in norm.parameters())], grad
    )
    slow = torch.autograd.grad(
        expected,
        [plain, plain_depthwise.weight, *(p for norm in used_plain for p in norm.parameters())],
        grad.float(),
    )
    assert [g.dtype for g in fast] == [torch.bfloat16] + [torch.float32] * (len(fast) - 1)
    for a, b in zip(fast, slow, strict=True):
        assert relative_error(a, b) < 2e-2


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("relu", [True, False])
def test_batch_norm_of_bfloat16_rounds_only_what_it_gives(layout: str, relu: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(9, 37, 5, 7, generator=generator).contiguous(memory_format=FORMATS[layout])
    half, plain = (t.requires_grad_() for t in (x.bfloat16(), x.bfloat16().float()))
    norm = make_norm(37, True, generator)
    other = copy.deepcopy(norm)
    y, expected = norm_relu(half, norm, relu=relu), norm_relu(plain, other, relu=relu)
    one_step = {"rtol": 2**-7, "atol": 1e-6}
    torch.testing.assert_close(y, expected.bfloat16(), **one_step)
    torch.testing.assert_close(norm.state_dict(), other.state_dict(), rtol=1e-5, atol=1e-6)
    grad = torch.randn(x.shape, generator=generator).bfloat16()
    grads = torch.autograd.grad(y, [half, *norm.parameters()], grad)
    expected_grads = torch.autograd.grad(expected, [plain, *other.parameters()], grad.float())
    torch.testing.assert_close(grads[0], expected_grads[0].bfloat16(), **one_step)
    torch.testing.assert_close(grads[1:], expected_grads[1:], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("gamma", [True, False])
def test_batch_norm_equals_torch(layout: str, relu: bool, gamma: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(9, 21, 5, 7, generator=generator).contiguous(memory_format=FORMATS[layout])
    norm = make_norm(21, gamma, generator)
    plain = copy.deepcopy(norm)
    x.requires_grad_()
    for _ in range(3):
        y = norm_relu(x, norm, relu=relu)
        expected = nn.BatchNorm2d.forward(plain, x)
        expected = expected.relu() if relu else expected
        torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(norm.state_dict(), plain.state_dict(), rtol=1e-5, atol=1e-6)
    grad = torch.where(expected.abs() < 1e-4, 0, torch.randn(x.shape, generator=generator))
    check_close(
        list(torch.autograd.grad(y, [x, *norm.parameters()], grad)),
        list(torch.autograd.grad(expected, [x, *plain.parameters()], grad)),
    )


def test_evaluation_uses_the_running_statistics() -> None:
    torch.manual_seed(0)
    norms = [BatchNormReLU(6), BatchNormReLU(6)]
    depthwise = BoardDepthwise(6, PATTERNS)
    x = torch.randn(4, 6, 8, 8)
    norm_depthwise_norm(x, norms[0], depthwise, norms[1])
    for norm in norms:
        norm.eval()
    state = copy.deepcopy(norms[0].state_dict())
    expected = norms[1](depthwise(norms[0](x)))
    torch.testing.assert_close(norm_depthwise_norm(x, norms[0], depthwise, norms[1]), expected)
    torch.testing.assert_close(norms[0].state_dict(), state)


def test_dense_form_and_other_types_train_the_same() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 6, 8, 8)
    results = []
    for form, dtype in (
        ("native", torch.float32),
        ("dense", torch.float32),
        ("native", torch.float64),
    ):
        torch.manual_seed(1)
        norms = [BatchNormReLU(6).to(dtype), BatchNormReLU(6).to(dtype)]
        depthwise = BoardDepthwise(6, PATTERNS, form=form).to(dtype)
        y = norm_depthwise_norm(x.to(dtype), norms[0], depthwise, norms[1])
        y.square().sum().backward()
        assert depthwise.weight.grad is not None
        results.append([y, depthwise.weight.grad, norms[0].running_var])
    for other in results[1:]:
        torch.testing.assert_close(results[0], other, rtol=1e-4, atol=1e-3, check_dtype=False)


def test_cumulative_average_as_torch() -> None:
    norm, plain = BatchNormReLU(3, momentum=None), nn.BatchNorm2d(3, momentum=None)
    for seed in range(3):
        x = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(seed))
        norm(x)
        plain(x)
    torch.testing.assert_close(norm.state_dict(), plain.state_dict())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("layout", "norm_input"), [("nchw", False), ("channels_last", True)])
def test_operators_keep_the_rules_of_torch_library(
    layout: str, norm_input: bool, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(3, 7, 4, 5, generator=generator).contiguous(memory_format=FORMATS[layout])
    x = x.to(dtype)
    weight = torch.randn(7, 9, generator=generator)
    vectors = [torch.randn(7, generator=generator) for _ in range(3)]
    for tensor in (x, weight, *vectors):
        tensor.requires_grad_()
    offsets = flatten_offsets([pattern.offsets for pattern in PATTERNS])
    first = vectors[0] if norm_input else None
    torch.library.opcheck(
        torch.ops.zerogames.norm_depthwise_norm.default,
        (x, None, first, weight, *vectors[1:], offsets, 3, 1e-5, 1e-5, norm_input),
    )
    if norm_input:
        torch.library.opcheck(
            torch.ops.zerogames.batch_norm_relu.default, (x, *vectors[:2], 1e-5, True)
        )


def test_one_value_per_channel_and_misplaced_layers_are_refused() -> None:
    norm, depthwise = BatchNormReLU(4), BoardDepthwise(4, [KNIGHT], bias=True)
    with pytest.raises(ValueError, match="more than one value per channel"):
        norm(torch.zeros(1, 4, 1, 1))
    with pytest.raises(ValueError, match="neither bias nor ReLU"):
        norm_depthwise_norm(torch.zeros(2, 4, 3, 3), None, depthwise, norm)
