"""A net of Leela Zero as one of ours."""

from pathlib import Path

import torch
from torch import nn

from zerogames.errors import UserError
from zerogames.nets.layers import BatchNorm
from zerogames.nets.model import Model, build_model
from zerogames.registry import get_game
from zerogames_go.leela_zero.names import PREFIX
from zerogames_go.leela_zero.network import Convolution, Dense, LeelaZeroNet, read_leela_zero

HIDDEN = 256


def import_leela_zero(path: str | Path) -> Model:
    """Read a net of Leela Zero; raise `UserError` that says why it cannot be read."""
    net = read_leela_zero(path)
    try:
        return to_model(net)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


@torch.no_grad()
def to_model(net: LeelaZeroNet) -> Model:
    """The net with its weights, for the board that it is for."""
    if len(net.value_hidden.biases) != HIDDEN:
        raise UserError(f"a value of {len(net.value_hidden.biases)} hidden units, not {HIDDEN}")
    game = get_game(f"go:size={net.board}")
    prefix = PREFIX + ("2" if net.version == 2 else "")
    model = build_model(game.parse_net(f"{prefix}_{len(net.blocks)}x{net.channels}"), game)
    _fill(_part(model.stem, "0"), _part(model.stem, "1"), net.stem)
    for block, (first, second) in zip(model.blocks, net.blocks, strict=True):
        _fill(_part(block, "conv1"), _part(block, "norm1"), first)
        _fill(_part(block, "conv2"), _part(block, "norm2"), second)
    _fill(_part(model.policy, "conv"), _part(model.policy, "norm"), net.policy)
    _fill_dense(_part(model.policy, "dense"), net.policy_dense)
    _fill(_part(model.value, "conv"), _part(model.value, "norm"), net.value)
    _fill_dense(_part(model.value, "hidden"), net.value_hidden)
    _fill_dense(_part(model.value, "output"), net.value_out)
    model.origin = f"Leela Zero, file version {net.version}"
    return model.eval()


def _part(module: nn.Module, name: str) -> nn.Module:
    return module.get_submodule(name)


def _fill(conv: nn.Module, norm: nn.Module, source: Convolution) -> None:
    """The bias before the norm moves its mean."""
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(norm, BatchNorm)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    conv.weight.copy_(torch.from_numpy(source.weights))
    norm.running_mean.copy_(torch.from_numpy(source.means - source.biases))
    norm.running_var.copy_(torch.from_numpy(source.variances))
    norm.bias.zero_()
    if norm.weight is not None:
        norm.weight.fill_(1)


def _fill_dense(dense: nn.Module, source: Dense) -> None:
    assert isinstance(dense, nn.Linear)
    dense.weight.copy_(torch.from_numpy(source.weights))
    dense.bias.copy_(torch.from_numpy(source.biases))
