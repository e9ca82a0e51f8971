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
from torch import nn

from zerogames.errors import UserError
from zerogames.nets.layers import BatchNorm, SqueezeExcitation
from zerogames.nets.model import Model, build_model
from zerogames.nets.spec import KernelStage, NetSpec
from zerogames.registry import get_game
from zerogames_chess.attention_policy import AttentionPolicy
from zerogames_chess.lc0.attention_net import (
    TOP_LEVEL,
    ChosenHeads,
    attention_sizes,
    attention_to_model,
    body_stage,
    format_attention,
    format_policy,
    is_attention_net,
    policy_slots,
)
from zerogames_chess.lc0.layer import Encoding, Floats
from zerogames_chess.lc0.network import (
    ConvBlock,
    DenseHead,
    Frame,
    Lc0Net,
    Residual,
    check_frame,
    format_net,
    parse_net,
    plain_conv,
    read_message,
    write_packed,
)
from zerogames_chess.lc0.slots import Layers
from zerogames_chess.lc0.tower import (
    RULE50_PLANE,
    check_tower,
    copy_numbers,
    fill_tower,
    numbers_of,
    part_of,
    rule50_factor,
    set_conv,
    set_linear,
    tower_name,
)
from zerogames_chess.lc0.wire import Message

SUFFIXES = (".pb.gz", ".pb")
LC0_POLICY_PLANES = 80
DEFAULT_LICENCE = "see the source of the training data"


def import_lc0(path: str | Path, heads: ChosenHeads | None = None) -> Model:
    """Read a `.pb.gz` file as one of our nets; raise `UserError` with its name and the reason.

    Args:
        path: The file.
        heads: Those that play, if it has several.
    """
    return read_message(path, lambda net: message_to_model(net, heads))


def import_with_steps(path: str | Path, heads: ChosenHeads) -> tuple[Model, int]:
    """The same, with the training steps that the file tells."""
    return read_message(path, lambda net: (message_to_model(net, heads), net.message(5).integer(1)))


def message_to_model(net: Message, heads: ChosenHeads | None = None) -> Model:
    """The net of a weights file as one of ours."""
    check_frame(net)
    if is_attention_net(net):
        model = attention_to_model(net, heads)
    elif heads in (None, ChosenHeads()):
        model = from_lc0(parse_net(net))
    else:
        raise UserError("a residual net has one policy and one value head")
    licence = " ".join(net.text(2).split())[:200]
    model.origin = f"Lc0, {net.message(5).integer(1):,} training steps"
    model.origin += f", licence of the file: {licence}" if licence else ", without a licence"
    return model


def net_name(net: Lc0Net) -> str:
    """The name of this architecture here."""
    options = ["conv"] if net.policy_kind == "conv" else []
    if net.policy_kind == "attention":
        layers = Layers(Message(net.attention), net.default_encoding)
        sizes = replace(attention_sizes(layers, TOP_LEVEL), is_selu=True)
        options = [f"attention{sizes}"]
    options += ["scalar"] if net.value_kind == "scalar" else []
    if net.moves_left is not None:
        plies = net.moves_left.conv.channels, len(net.moves_left.dense[1])
        same = plies == NetSpec.moves_left_sizes
        options.append("mlh" if same else f"mlh{plies[0]}.{plies[1]}")
    options += ["mish"] if net.activation == "mish" else []
    name, *excitation = tower_name(net.stem, net.blocks)
    options = [*excitation, *options]
    return "+".join([name, *options])


def from_lc0(net: Lc0Net) -> Model:
    """The Lc0 net as a net of ours, in evaluation mode."""
    if not net.blocks or net.stem.channels == 0:
        raise UserError("it has no residual blocks")
    game = get_game("chess")
    spec = game.parse_net(net_name(net))
    check_tower(net.stem, net.blocks)  # no memory before the file is known to fill it
    model = build_model(spec, game)
    with torch.no_grad():
        fill_tower(model, net.stem, net.blocks)
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
    """Write a net as an Lc0 weights file, atomically.

    Args:
        model: A chess net `res_3x3_...`, or one of encoders as Lc0 has them.
        path: Where to, ending in `.pb.gz`.
        encoding: Of the weights; `linear16` is what every version of the engine reads.
        training_steps: Told in the file.
        licence: Told in the file.
    """
    if not str(path).endswith(SUFFIXES):
        raise UserError(f"{path}: an Lc0 file is called .pb.gz")
    frame = Frame(licence=licence, training_steps=training_steps, min_version=(0, 0, 0))
    write_packed(format_model(model, frame, encoding=encoding), path)


def format_model(model: Model, frame: Frame, *, encoding: Encoding = "linear16") -> bytes:
    """The message of a net; raise `UserError` for an architecture that Lc0 has no weights for."""
    if body_stage(model.spec) is not None:
        return format_attention(model, frame, encoding)
    net = to_lc0(model, encoding=encoding)
    net = replace(net, training_steps=frame.training_steps, licence=frame.licence)
    return format_net(net, encoding)


def to_lc0(model: Model, *, encoding: Encoding = "linear16") -> Lc0Net:
    """One of our nets in Lc0's terms; raise `UserError` for another architecture."""
    spec = model.spec
    for what, fits in (
        (f"game {spec.game}", spec.game.startswith("chess")),
        (f"encoding {spec.encoding}", spec.encoding.startswith("lc0-classic")),
        (f"trunk '{spec.name.partition('+')[0]}'", _is_residual(spec)),
        (f"policy {spec.policy}", spec.policy in ("dense", "conv", "attention")),
        (f"value {spec.value}", spec.value in ("wdl", "scalar")),
        (f"value head {spec.value_head}", spec.value_head == "dense"),
        (f"convention {spec.convention}", spec.convention == "lc0"),
    ):
        if not fits:
            raise UserError(f"net '{spec.name}': Lc0 files have no {what}; export it as ONNX")
    if isinstance(model.policy, AttentionPolicy) and not model.policy.sizes.is_selu:
        raise UserError(
            f"net '{spec.name}': Lc0's residual nets have SELU in an attention policy; "
            "export it as ONNX"
        )
    stem = _get_conv(part_of(model.stem, "0"), part_of(model.stem, "1"))
    weights = stem.weights.reshape(spec.channels, -1, 9).copy()
    weights[:, RULE50_PLANE] *= np.float32(rule50_factor(model))
    policy1, policy = None, None
    attention = b""
    if isinstance(model.policy, AttentionPolicy):
        attention = format_policy(model.policy, encoding)
    elif spec.policy == "conv":
        policy1 = _get_conv(part_of(model.policy, "conv1"), part_of(model.policy, "norm"))
        last = cast(nn.Conv2d, part_of(model.policy, "conv2"))
        unused = LC0_POLICY_PLANES - last.out_channels
        kernel = np.pad(numbers_of(last.weight), ((0, unused), (0, 0), (0, 0), (0, 0)))
        assert last.bias is not None
        policy = DenseHead(
            conv=plain_conv(kernel, np.pad(numbers_of(last.bias), (0, unused))), dense=()
        )
    else:
        conv = _get_conv(part_of(model.policy, "conv"), part_of(model.policy, "norm"))
        policy = DenseHead(conv=conv, dense=_get_linear(part_of(model.policy, "dense")))
    return Lc0Net(
        policy_kind={"dense": "classical"}.get(spec.policy, spec.policy),
        attention=attention,
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


def _set_head(head: nn.Module, source: DenseHead, where: str) -> None:
    set_conv(part_of(head, "conv"), part_of(head, "norm"), source.conv, where)
    set_linear(part_of(head, "hidden"), source.dense[0], source.dense[1], where)
    set_linear(part_of(head, "output"), source.dense[2], source.dense[3], where)


def _set_policy(head: nn.Module, net: Lc0Net) -> None:
    where = "the policy head"
    if net.policy is None:
        layers = Layers(Message(net.attention), net.default_encoding)
        layers.fill(policy_slots(head))
        return
    if net.policy1 is None:
        set_conv(part_of(head, "conv"), part_of(head, "norm"), net.policy.conv, where)
        set_linear(part_of(head, "dense"), net.policy.dense[0], net.policy.dense[1], where)
        return
    set_conv(part_of(head, "conv1"), part_of(head, "norm"), net.policy1, where)
    last = part_of(head, "conv2")
    assert isinstance(last, nn.Conv2d)
    assert last.bias is not None
    planes, block = net.policy.conv.channels, net.policy.conv
    if planes < last.out_channels or len(block.means) or block.weights.size % planes:
        raise UserError(f"{where} has {planes} planes, not {LC0_POLICY_PLANES}")
    copy_numbers(last.weight, block.weights.reshape(planes, -1)[: last.out_channels], where)
    copy_numbers(last.bias, block.biases[: last.out_channels], where)


def _get_conv(conv: nn.Module, norm: nn.Module) -> ConvBlock:
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(norm, BatchNorm)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    ones = np.ones(conv.out_channels, np.float32)
    return ConvBlock(
        weights=numbers_of(conv.weight),
        biases=np.empty(0, np.float32),
        means=numbers_of(norm.running_mean),
        variances=numbers_of(norm.running_var),
        gammas=ones if norm.weight is None else numbers_of(norm.weight),
        betas=numbers_of(norm.bias),
    )


def _get_linear(linear: nn.Module) -> tuple[Floats, Floats]:
    assert isinstance(linear, nn.Linear)
    return numbers_of(linear.weight), numbers_of(linear.bias)


def _get_head(head: nn.Module) -> DenseHead:
    return DenseHead(
        conv=_get_conv(part_of(head, "conv"), part_of(head, "norm")),
        dense=(*_get_linear(part_of(head, "hidden")), *_get_linear(part_of(head, "output"))),
    )


def _get_block(block: nn.Module) -> Residual:
    unit = part_of(block, "excitation")
    return Residual(
        conv1=_get_conv(part_of(block, "conv1"), part_of(block, "norm1")),
        conv2=_get_conv(part_of(block, "conv2"), part_of(block, "norm2")),
        excitation=(*_get_linear(unit.squeeze), *_get_linear(unit.excite))
        if isinstance(unit, SqueezeExcitation)
        else None,
    )
