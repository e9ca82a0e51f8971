"""An equal net for inference: batch norms become part of the convolutions before them."""

import copy

import torch
from torch import nn
from zerogames_kernels.modules import BoardDepthwise

from zerogames.nets.model import Model
from zerogames.nets.program import Convolution


def fold_norms(model: Model, *, plain: bool = False) -> Model:
    """Copy a net for inference.

    Args:
        model: The net; it stays as it is.
        plain: Also turn compact kernels to ordinary convolutions with zeros between the taps.
    """
    folded = copy.deepcopy(model).eval().requires_grad_(False)
    for layer in model.program().layers:
        if isinstance(layer, Convolution) and layer.norm is not None:
            conv = folded.get_submodule(layer.name)
            device = next(conv.parameters()).device
            folded.set_submodule(layer.name, _plain(layer, conv, compact=not plain).to(device))
            folded.set_submodule(layer.norm.name, nn.Identity())
    return folded


def _plain(layer: Convolution, conv: nn.Module, *, compact: bool) -> nn.Module:
    """The convolution with the norm in it."""
    result: nn.Conv2d | BoardDepthwise
    weight, bias = layer.folded
    if isinstance(conv, BoardDepthwise) and compact:
        result = BoardDepthwise(conv.channels, conv.patterns, bias=True, form=conv.form)
        weight = weight[:, 0]
    else:
        weight = layer.window
        size, channels = layer.size, weight.shape[1] * layer.groups
        result = nn.Conv2d(channels, len(weight), size, padding=size // 2, groups=layer.groups)
    for name, numbers in (("weight", weight), ("bias", bias)):
        setattr(result, name, nn.Parameter(torch.tensor(numbers), requires_grad=False))
    return result.eval()
