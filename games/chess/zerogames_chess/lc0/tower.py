"""The tower of Lc0's residual nets as ours: the same layers, and the names of its sizes."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from zerogames.errors import UserError
from zerogames.nets.layers import BatchNorm, SqueezeExcitation
from zerogames.nets.model import Model
from zerogames.nets.spec import NORM_EPSILON
from zerogames_chess.lc0.layer import Floats
from zerogames_chess.lc0.network import ConvBlock, Residual

INPUT_PLANES = 112
RULE50_PLANE = 109


def tower_name(stem: ConvBlock, blocks: Sequence[Residual]) -> tuple[str, str]:
    """The stage of this tower here, and the option of its squeeze-and-excitation."""
    channels = stem.channels
    name = f"res_3x3_{len(blocks)}x{channels}"
    excitations = [block.excitation for block in blocks]
    if all(excitation is None for excitation in excitations):
        return name, "se0"
    hidden = {0 if excitation is None else len(excitation[1]) for excitation in excitations}
    if len(hidden) > 1 or 0 in hidden:
        raise UserError("its blocks have different squeeze-excitation units")
    [width] = hidden
    ratio = channels // width if width <= channels else 0
    if ratio == 0 or channels // ratio != width:
        raise UserError(f"a squeeze-excitation width of {width} for {channels} channels")
    return name, f"se{ratio}"


def check_tower(stem: ConvBlock, blocks: Sequence[Residual]) -> None:
    """Raise `UserError` unless the file has the weights of each layer that its sizes ask for."""
    channels = stem.channels
    convs = [("the input block", INPUT_PLANES, stem)]
    for number, block in enumerate(blocks, 1):
        convs += [(f"block {number}", channels, conv) for conv in (block.conv1, block.conv2)]
    for where, inputs, conv in convs:
        known = channels * inputs * 9
        if conv.weights.size != known or conv.channels not in (0, channels):
            raise UserError(f"{where} has {conv.weights.size} numbers where {known} are known")


def fill_tower(model: Model, stem: ConvBlock, blocks: Sequence[Residual]) -> None:
    """Copy the weights to the first blocks of a net; not under the eyes of autograd."""
    conv = part_of(model.stem, "0")
    set_conv(conv, part_of(model.stem, "1"), stem, "the input block")
    cast(nn.Conv2d, conv).weight[:, RULE50_PLANE] /= rule50_factor(model)
    for number, (ours, theirs) in enumerate(zip(model.blocks, blocks, strict=False), 1):
        where = f"block {number}"
        set_conv(part_of(ours, "conv1"), part_of(ours, "norm1"), theirs.conv1, where)
        set_conv(part_of(ours, "conv2"), part_of(ours, "norm2"), theirs.conv2, where)
        unit = part_of(ours, "excitation")
        if theirs.excitation is not None:
            assert isinstance(unit, SqueezeExcitation)
            set_linear(unit.squeeze, *theirs.excitation[:2], where)
            set_linear(unit.excite, *theirs.excitation[2:], where)


def part_of(module: nn.Module, name: str) -> nn.Module:
    """A module inside another."""
    return cast(nn.Module, getattr(module, name))


def rule50_factor(model: Model) -> float:
    """The factor of the rule-50 counter that Lc0 has in its weights."""
    return dict(model.spec.input_scale).get(RULE50_PLANE, 1.0)


def numbers_of(tensor: torch.Tensor) -> Floats:
    """The numbers of a tensor."""
    return cast(Floats, tensor.detach().to("cpu", torch.float32).numpy())


def copy_numbers(target: torch.Tensor, values: NDArray[np.floating], where: str) -> None:
    """Copy numbers to a tensor; raise `UserError` if it has more or fewer."""
    if target.numel() != values.size:
        raise UserError(f"{where} has {values.size} numbers where {target.numel()} are known")
    source = np.ascontiguousarray(values, np.float32).reshape(tuple(target.shape))
    target.copy_(torch.from_numpy(source))


def set_conv(conv: nn.Module, norm: nn.Module, block: ConvBlock, where: str) -> None:
    """A convolution with its batch norm; biases move into the mean, lone gammas into weights."""
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(norm, BatchNorm)
    channels = conv.out_channels
    ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    biases = block.biases if len(block.biases) else zeros
    gammas = block.gammas if len(block.gammas) else ones
    betas = block.betas if len(block.betas) else zeros
    weights = block.weights
    if len(block.means):
        means, variances = block.means - biases, block.variances
        if (variances < 0).any():
            raise UserError(f"{where} has a negative variance")
    else:
        means, variances = -biases, ones * np.float32(1 - NORM_EPSILON["lc0"])
    if norm.weight is not None:
        copy_numbers(norm.weight, gammas, where)
    elif (gammas != 1).any():
        if weights.size % channels:
            raise UserError(f"{where} has {weights.size} weights for {channels} channels")
        weights = weights.reshape(channels, -1) * gammas[:, None]
        means = means * gammas
    copy_numbers(conv.weight, weights, where)
    copy_numbers(norm.bias, betas, where)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    copy_numbers(norm.running_mean, means, where)
    copy_numbers(norm.running_var, variances, where)


def set_linear(linear: nn.Module, weights: Floats, biases: Floats, where: str) -> None:
    """Copy the weights of a dense layer."""
    assert isinstance(linear, nn.Linear)
    copy_numbers(linear.weight, weights, where)
    copy_numbers(linear.bias, biases, where)
