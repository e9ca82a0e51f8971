"""Between Lc0's residual nets and ours: the same function, the same weights.

Lc0 feeds the rule-50 counter raw and holds the factor 1/99 in the weights; our nets hold it in the
spec's input scale. Lc0's convolutional policy has seven planes that mean nothing; ours leaves them
out.
"""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from zerogames.errors import UserError
from zerogames.nets.layers import BatchNorm, SqueezeExcitation
from zerogames.nets.model import Model, build_model
from zerogames.nets.spec import NORM_EPSILON, KernelStage, NetSpec
from zerogames.registry import get_game
from zerogames_chess.lc0.layer import Encoding, Floats
from zerogames_chess.lc0.network import (
    ConvBlock,
    DenseHead,
    Lc0Net,
    Residual,
    plain_conv,
    read_lc0,
    write_lc0,
)

SUFFIXES = (".pb.gz", ".pb")
INPUT_PLANES = 112
RULE50_PLANE = 109
LC0_POLICY_PLANES = 80
DEFAULT_LICENCE = "see the source of the training data"


def import_lc0(path: str | Path) -> Model:
    """Read a `.pb.gz` file as one of our nets; raise `UserError` with its name and the reason."""
    net = read_lc0(path)
    try:
        return from_lc0(net)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def net_name(net: Lc0Net) -> str:
    """The name of this architecture here."""
    channels = net.stem.channels
    options = ["conv"] if net.policy_kind == "conv" else []
    options += ["scalar"] if net.value_kind == "scalar" else []
    options += ["mlh"] if net.moves_left is not None else []
    options += ["mish"] if net.activation == "mish" else []
    excitations = [block.excitation for block in net.blocks]
    if all(excitation is None for excitation in excitations):
        options.insert(0, "se0")
    else:
        hidden = {0 if excitation is None else len(excitation[1]) for excitation in excitations}
        if len(hidden) > 1 or 0 in hidden:
            raise UserError("its blocks have different squeeze-excitation units")
        [width] = hidden
        ratio = channels // width if width <= channels else 0
        if ratio == 0 or channels // ratio != width:
            raise UserError(f"a squeeze-excitation width of {width} for {channels} channels")
        options.insert(0, f"se{ratio}")
    return "+".join([f"res_3x3_{len(net.blocks)}x{channels}", *options])


def from_lc0(net: Lc0Net) -> Model:
    """The Lc0 net as a net of ours, in evaluation mode."""
    if not net.blocks or net.stem.channels == 0:
        raise UserError("it has no residual blocks")
    game = get_game("chess")
    spec = game.parse_net(net_name(net))
    _check_trunk(net)  # no memory before the file is known to fill it
    model = build_model(spec, game)
    with torch.no_grad():
        _set_conv(_part(model.stem, "0"), _part(model.stem, "1"), net.stem, "the input block")
        stem = cast(nn.Conv2d, _part(model.stem, "0")).weight
        stem[:, RULE50_PLANE] /= _rule50_scale(model)
        for number, (ours, theirs) in enumerate(zip(model.blocks, net.blocks, strict=True), 1):
            where = f"block {number}"
            _set_conv(_part(ours, "conv1"), _part(ours, "norm1"), theirs.conv1, where)
            _set_conv(_part(ours, "conv2"), _part(ours, "norm2"), theirs.conv2, where)
            unit = _part(ours, "excitation")
            if theirs.excitation is not None:
                assert isinstance(unit, SqueezeExcitation)
                _set_linear(unit.squeeze, *theirs.excitation[:2], where)
                _set_linear(unit.excite, *theirs.excitation[2:], where)
        _set_policy(model.policy, net)
        _set_head(model.value, net.value, "the value head")
        if net.moves_left is not None:
            assert model.moves_left is not None
            _set_head(model.moves_left, net.moves_left, "the moves-left head")
    return model.eval()


def export_lc0(
    model: Model,
    path: str | Path,
    *,
    encoding: Encoding = "linear16",
    training_steps: int = 0,
    licence: str = DEFAULT_LICENCE,
) -> None:
    """Write a residual net as an Lc0 weights file, atomically.

    Args:
        model: A chess net `res_3x3_...` with a classical or convolutional policy.
        path: Where to, ending in `.pb.gz`.
        encoding: Of the weights; `linear16` is what every version of the engine reads.
        training_steps: Told in the file.
        licence: Told in the file.
    """
    if not str(path).endswith(SUFFIXES):
        raise UserError(f"{path}: an Lc0 file is called .pb.gz")
    net = replace(to_lc0(model), training_steps=training_steps, licence=licence)
    write_lc0(net, path, encoding=encoding)


def to_lc0(model: Model) -> Lc0Net:
    """One of our nets in Lc0's terms; raise `UserError` for another architecture."""
    spec = model.spec
    for what, fits in (
        (f"game {spec.game}", spec.game.startswith("chess")),
        (f"encoding {spec.encoding}", spec.encoding.startswith("lc0-classic")),
        (f"trunk '{spec.name.partition('+')[0]}'", _is_residual(spec)),
        (f"policy {spec.policy}", spec.policy in ("dense", "conv")),
        (f"value {spec.value}", spec.value in ("wdl", "scalar")),
        (f"value head {spec.value_head}", spec.value_head == "dense"),
        (f"convention {spec.convention}", spec.convention == "lc0"),
    ):
        if not fits:
            raise UserError(f"net '{spec.name}': Lc0 files have no {what}; export it as ONNX")
    stem = _get_conv(_part(model.stem, "0"), _part(model.stem, "1"))
    weights = stem.weights.reshape(spec.channels, -1, 9).copy()
    weights[:, RULE50_PLANE] *= np.float32(_rule50_scale(model))
    policy1 = None
    if spec.policy == "conv":
        policy1 = _get_conv(_part(model.policy, "conv1"), _part(model.policy, "norm"))
        last = cast(nn.Conv2d, _part(model.policy, "conv2"))
        unused = LC0_POLICY_PLANES - last.out_channels
        kernel = np.pad(_numpy(last.weight), ((0, unused), (0, 0), (0, 0), (0, 0)))
        assert last.bias is not None
        policy = DenseHead(
            conv=plain_conv(kernel, np.pad(_numpy(last.bias), (0, unused))), dense=()
        )
    else:
        conv = _get_conv(_part(model.policy, "conv"), _part(model.policy, "norm"))
        policy = DenseHead(conv=conv, dense=_get_linear(_part(model.policy, "dense")))
    return Lc0Net(
        policy_kind="conv" if spec.policy == "conv" else "classical",
        value_kind=spec.value,
        activation=spec.activation,
        stem=replace(stem, weights=weights),
        blocks=[_get_block(block) for block in model.blocks],
        policy=policy,
        policy1=policy1,
        value=_get_head(model.value),
        moves_left=None if model.moves_left is None else _get_head(model.moves_left),
    )


def _is_residual(spec: NetSpec) -> bool:
    [stage, *others] = spec.stages
    return (
        isinstance(stage, KernelStage)
        and (stage.block, stage.kernel) == ("res", "3x3")
        and not others
    )


def _part(module: nn.Module, name: str) -> nn.Module:
    return cast(nn.Module, getattr(module, name))


def _rule50_scale(model: Model) -> float:
    return dict(model.spec.input_scale).get(RULE50_PLANE, 1.0)


def _numpy(tensor: torch.Tensor) -> Floats:
    return cast(Floats, tensor.detach().to("cpu", torch.float32).numpy())


def _copy(target: torch.Tensor, values: NDArray[np.floating], where: str) -> None:
    if target.numel() != values.size:
        raise UserError(f"{where} has {values.size} numbers where {target.numel()} are known")
    source = np.ascontiguousarray(values, np.float32).reshape(tuple(target.shape))
    target.copy_(torch.from_numpy(source))


def _check_trunk(net: Lc0Net) -> None:
    """Raise `UserError` unless the file has the weights of each layer that its sizes ask for."""
    channels = net.stem.channels
    convs = [("the input block", INPUT_PLANES, net.stem)]
    for number, block in enumerate(net.blocks, 1):
        convs += [(f"block {number}", channels, conv) for conv in (block.conv1, block.conv2)]
    for where, inputs, conv in convs:
        known = channels * inputs * 9
        if conv.weights.size != known or conv.channels not in (0, channels):
            raise UserError(f"{where} has {conv.weights.size} numbers where {known} are known")


def _set_conv(conv: nn.Module, norm: nn.Module, block: ConvBlock, where: str) -> None:
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
        _copy(norm.weight, gammas, where)
    elif (gammas != 1).any():
        if weights.size % channels:
            raise UserError(f"{where} has {weights.size} weights for {channels} channels")
        weights = weights.reshape(channels, -1) * gammas[:, None]
        means = means * gammas
    _copy(conv.weight, weights, where)
    _copy(norm.bias, betas, where)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    _copy(norm.running_mean, means, where)
    _copy(norm.running_var, variances, where)


def _set_linear(linear: nn.Module, weights: Floats, biases: Floats, where: str) -> None:
    assert isinstance(linear, nn.Linear)
    _copy(linear.weight, weights, where)
    _copy(linear.bias, biases, where)


def _set_head(head: nn.Module, source: DenseHead, where: str) -> None:
    _set_conv(_part(head, "conv"), _part(head, "norm"), source.conv, where)
    _set_linear(_part(head, "hidden"), source.dense[0], source.dense[1], where)
    _set_linear(_part(head, "output"), source.dense[2], source.dense[3], where)


def _set_policy(head: nn.Module, net: Lc0Net) -> None:
    where = "the policy head"
    if net.policy1 is None:
        _set_conv(_part(head, "conv"), _part(head, "norm"), net.policy.conv, where)
        _set_linear(_part(head, "dense"), net.policy.dense[0], net.policy.dense[1], where)
        return
    _set_conv(_part(head, "conv1"), _part(head, "norm"), net.policy1, where)
    last = _part(head, "conv2")
    assert isinstance(last, nn.Conv2d)
    assert last.bias is not None
    planes, block = net.policy.conv.channels, net.policy.conv
    if planes < last.out_channels or len(block.means) or block.weights.size % planes:
        raise UserError(f"{where} has {planes} planes, not {LC0_POLICY_PLANES}")
    _copy(last.weight, block.weights.reshape(planes, -1)[: last.out_channels], where)
    _copy(last.bias, block.biases[: last.out_channels], where)


def _get_conv(conv: nn.Module, norm: nn.Module) -> ConvBlock:
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(norm, BatchNorm)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    ones = np.ones(conv.out_channels, np.float32)
    return ConvBlock(
        weights=_numpy(conv.weight),
        biases=np.empty(0, np.float32),
        means=_numpy(norm.running_mean),
        variances=_numpy(norm.running_var),
        gammas=ones if norm.weight is None else _numpy(norm.weight),
        betas=_numpy(norm.bias),
    )


def _get_linear(linear: nn.Module) -> tuple[Floats, Floats]:
    assert isinstance(linear, nn.Linear)
    return _numpy(linear.weight), _numpy(linear.bias)


def _get_head(head: nn.Module) -> DenseHead:
    return DenseHead(
        conv=_get_conv(_part(head, "conv"), _part(head, "norm")),
        dense=(*_get_linear(_part(head, "hidden")), *_get_linear(_part(head, "output"))),
    )


def _get_block(block: nn.Module) -> Residual:
    unit = _part(block, "excitation")
    return Residual(
        conv1=_get_conv(_part(block, "conv1"), _part(block, "norm1")),
        conv2=_get_conv(_part(block, "conv2"), _part(block, "norm2")),
        excitation=(*_get_linear(unit.squeeze), *_get_linear(unit.excite))
        if isinstance(unit, SqueezeExcitation)
        else None,
    )
