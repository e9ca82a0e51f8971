"""An equal net for inference: batch norms become part of the convolutions before them."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from zerogames_kernels import Pattern
from zerogames_kernels.modules import BoardDepthwise

from zerogames.nets.layers import BatchNorm, MaskedConv2d
from zerogames.nets.model import Model


def fold_norms(model: Model, *, plain: bool = False) -> Model:
    """Copy a net for inference.

    Args:
        model: The net; it stays as it is.
        plain: Also turn compact kernels to ordinary convolutions with zeros between the taps, for
            backends that know nothing else, such as ONNX.
    """
    folded = copy.deepcopy(model).eval().requires_grad_(False)
    for part in list(folded.modules()):
        for conv_name, norm_name in getattr(part, "NORMED", ()):
            norm = getattr(part, norm_name, None)
            if isinstance(norm, BatchNorm):
                conv = getattr(part, conv_name)
                setattr(part, conv_name, _fold(conv, norm, plain=plain))
                setattr(part, norm_name, nn.Identity())
    return folded


def _fold(conv: nn.Module, norm: BatchNorm, *, plain: bool) -> nn.Module:
    mean, variance = norm.running_mean, norm.running_var
    assert mean is not None
    assert variance is not None
    scale = torch.rsqrt(variance + norm.eps)
    if norm.weight is not None:
        scale = scale * norm.weight
    shift = norm.bias - mean * scale
    bias = getattr(conv, "bias", None)
    if isinstance(bias, Tensor):
        shift = shift + bias * scale
    if isinstance(conv, BoardDepthwise) and not plain:
        compact = BoardDepthwise(conv.channels, conv.patterns, bias=True, form=conv.form)
        compact.weight = _frozen(conv.weight * scale[:, None])
        compact.bias = _frozen(shift)
        return compact.eval()
    weight, groups = _plain_weight(conv)
    result = nn.Conv2d(
        weight.shape[1] * groups,
        weight.shape[0],
        weight.shape[2],
        padding=weight.shape[2] // 2,
        groups=groups,
    )
    result.weight = _frozen(weight * scale[:, None, None, None])
    result.bias = _frozen(shift)
    return result.eval()


def _plain_weight(conv: nn.Module) -> tuple[Tensor, int]:
    """Dense weights `[out, in / groups, size, size]` and the number of groups."""
    if isinstance(conv, nn.Conv2d):
        return conv.weight, conv.groups
    assert isinstance(conv, (MaskedConv2d, BoardDepthwise))
    weight = conv.dense_weight()
    if _reach(conv.patterns) < 2:
        weight = weight[:, :, 1:4, 1:4]
    return weight, weight.shape[0] if isinstance(conv, BoardDepthwise) else 1


def _reach(patterns: Sequence[Pattern]) -> int:
    return max(abs(step) for pattern in patterns for offset in pattern.offsets for step in offset)


def _frozen(tensor: Tensor) -> nn.Parameter:
    return nn.Parameter(tensor.detach().clone(), requires_grad=False)
