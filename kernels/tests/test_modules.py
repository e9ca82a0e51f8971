"""Layers against the plain torch layers they stand for."""

import pytest
import torch
from zerogames_kernels import Pattern, reference, square_pattern
from zerogames_kernels.depthwise import FORMS
from zerogames_kernels.modules import BoardDepthwise

KNIGHT = Pattern.from_mask("knight", "01010 10001 00100 10001 01010")
PATTERNS = [KNIGHT, square_pattern(3)]


def test_parameters_are_the_live_taps() -> None:
    layer = BoardDepthwise(10, PATTERNS, bias=True)
    assert {name: tuple(t.shape) for name, t in layer.state_dict().items()} == {
        "weight": (10, 9),
        "bias": (10,),
    }
    assert set(BoardDepthwise(10, PATTERNS).state_dict()) == {"weight"}
    assert layer.dense_weight().shape == (10, 1, 5, 5)
    assert int((layer.dense_weight() != 0).sum()) == 90


@pytest.mark.parametrize("form", FORMS)
def test_every_form_computes_the_same(form: str) -> None:
    torch.manual_seed(0)
    layer = BoardDepthwise(11, PATTERNS, bias=True, relu=True, form=form)
    x = torch.randn(3, 11, 8, 8)
    expected = reference.slices(x, layer.weight, layer.offsets, layer.bias, relu=True)
    torch.testing.assert_close(layer(x), expected, rtol=1e-5, atol=1e-5)


def test_other_types_run_as_a_grouped_convolution() -> None:
    layer = BoardDepthwise(4, [KNIGHT]).double()
    x = torch.randn(2, 4, 5, 5, dtype=torch.float64)
    torch.testing.assert_close(layer(x), reference.slices(x, layer.weight, layer.offsets))


def test_bfloat16_boards_are_native_beside_float32_parameters() -> None:
    torch.manual_seed(0)
    layer = BoardDepthwise(4, [KNIGHT])
    x = torch.randn(2, 4, 5, 5).bfloat16()
    native = layer(x)
    assert "board_depthwise" in native.grad_fn.name()
    dense = layer.bfloat16()(x)
    assert "board_depthwise" not in dense.grad_fn.name()
    assert native.dtype == dense.dtype == torch.bfloat16
    torch.testing.assert_close(native, dense, rtol=0.05, atol=0.05)


def test_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="known: native, dense, opti1, opti2"):
        BoardDepthwise(4, [KNIGHT], form="fast")
