"""The net file: one `.safetensors` whose metadata says what the weights are.

Nothing in it is code. A file is written aside, synced and renamed; it is loaded whole or not at
all.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor
from zerogames_kernels import Pattern

from zerogames.atomic import write_atomically
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.identity import split_identity
from zerogames.nets.model import Model, build_model
from zerogames.nets.net_info import (
    METADATA_KEY,
    NetInfo,
    format_header,
    open_tensors,
    read_net_info,
    read_tensors,
)
from zerogames.nets.spec import KernelStage, NetSpec
from zerogames.registry import get_game


def describe_heads(spec: NetSpec) -> dict[str, str]:
    """The heads of a net by kind."""
    heads = {"policy": spec.policy, "value": f"{spec.value} ({spec.value_head})"}
    if spec.moves_left:
        heads["moves_left"] = "plies"
    heads |= dict.fromkeys(spec.ends, "for analysis" if spec.family else "for training only")
    return heads


def has_random_patterns(spec: NetSpec) -> bool:
    """Whether the net's patterns are drawn from its seed, and thus stored."""
    return any(isinstance(one, KernelStage) and one.random_taps for one in spec.stages)


def describe_net(model: Model) -> NetInfo:
    """Return what the file of a net without training says."""
    spec = model.spec
    return NetInfo(
        name=spec.name,
        game=spec.game,
        encoding=spec.encoding,
        heads=describe_heads(spec),
        origin=model.origin,
        patterns=[[list(p.offsets) for p in groups] for groups in model.patterns]
        if has_random_patterns(spec)
        else [],
    )


def save_net(
    path: str | Path,
    model: Model,
    *,
    step: int = 0,
    metrics: Mapping[str, float] | None = None,
    data_licence: str = "",
) -> None:
    """Write a net; a reader sees the old file or the whole new one, never a part."""
    info = replace(
        describe_net(model), step=step, metrics=dict(metrics or {}), data_licence=data_licence
    )
    tensors = dict(sorted(model.state_dict().items()))
    metadata = {METADATA_KEY: json.dumps(asdict(info), allow_nan=False)}

    def write(aside: Path) -> None:
        # One tensor at a time: `save` would hold them all again, and `save_file` makes a temporary
        # file of its own, which a kill would leave.
        with aside.open("wb") as stream:
            stream.write(format_header({n: t.shape for n, t in tensors.items()}, metadata))
            for tensor in tensors.values():
                array = tensor.detach().to("cpu", torch.float32).contiguous().numpy()
                stream.write(array.data)

    write_atomically(Path(path), write)


def load_net(
    path: str | Path, *, game: Game | None = None, name: str | None = None
) -> tuple[Model, NetInfo]:
    """Load a net.

    Args:
        path: The file.
        game: By default the one the file names; another size of it works for nets that serve any
            board.
        name: Another name of the same weights, e.g. with another kernel form.
    """
    path = Path(path)
    info = read_net_info(path)
    if game is None:
        game = get_game(info.game)
    elif split_identity(info.game)[0] != game.spec.name:
        raise UserError(f"{path} is a net for {info.game}, not for {game.spec.identity}")
    stored = _stored_spec(path, info, game)
    spec = stored
    if name is not None and name != info.name:
        spec = game.parse_net(name)
        _check_same(path, spec, stored)
    patterns = _stored_patterns(path, info)
    with torch.device("meta"):  # no memory before the file is known to fit
        skeleton = build_model(spec, game, patterns=patterns or None)
    _check_tensors(path, skeleton)
    model = build_model(spec, game, patterns=patterns or None)
    _assign(model, _read_tensors(path, model))
    return model.eval(), info


def load_weights(model: Model, path: str | Path) -> NetInfo:
    """Load a file's weights into a model of the same architecture; all of them or none."""
    path = Path(path)
    info = read_net_info(path)
    spec = model.spec
    name, wanted = split_identity(info.game)[0], split_identity(spec.game)[0]
    if name != wanted:
        raise UserError(f"{path} is a net for {info.game}, not for {spec.game}")
    _check_same(path, spec, _stored_spec(path, info, get_game(spec.game)))
    if info.patterns:
        taps = [[list(p.offsets) for p in groups] for groups in model.patterns]
        if [[sorted(group) for group in layer] for layer in info.patterns] != taps:
            raise UserError(f"{path} has other random patterns; load it with load_net")
    _check_tensors(path, model)
    _assign(model, dict(_read_tensors(path, model)).items())  # all of them, before one is changed
    return info


def _stored_patterns(path: Path, info: NetInfo) -> list[tuple[Pattern, ...]]:
    try:
        return [
            tuple(Pattern(f"random{layer}", tuple(taps)) for taps in groups)
            for layer, groups in enumerate(info.patterns)
        ]
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _stored_spec(path: Path, info: NetInfo, game: Game) -> NetSpec:
    try:
        spec = game.parse_net(info.name)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    if spec.encoding != info.encoding:
        raise UserError(f"{path}: '{info.name}' reads {spec.encoding}, not {info.encoding}")
    if bool(info.patterns) != has_random_patterns(spec):
        raise UserError(f"{path}: '{info.name}' and its stored random patterns do not agree")
    if describe_heads(spec) != info.heads:
        raise UserError(f"{path}: heads {info.heads} are not those of '{info.name}'")
    return spec


def _check_same(path: Path, spec: NetSpec, stored: NetSpec) -> None:
    differences = spec.differences(stored)
    if differences:
        raise UserError(
            f"{path} holds '{stored.name}', not '{spec.name}': {'; '.join(differences)}"
        )


def _check_tensors(path: Path, model: Model) -> None:
    """Raise `UserError` unless names, shapes and types agree with the model."""
    wanted = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    with open_tensors(path) as stream:
        found = {name: stream.get_slice(name) for name in stream.keys()}  # noqa: SIM118
        problems = [f"no {name}" for name in wanted if name not in found]
        problems += [f"unknown {name}" for name in found if name not in wanted]
        for name, part in found.items():
            if name in wanted and part.get_shape() != wanted[name]:
                problems.append(f"{name} is {part.get_shape()}, not {wanted[name]}")
            elif part.get_dtype() != "F32":
                problems.append(f"{name} is {part.get_dtype()}, not F32")
        if problems:
            more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
            raise UserError(
                f"{path} does not fit '{model.spec.name}': {', '.join(problems[:3])}{more}"
            )


def _read_tensors(path: Path, model: Model) -> Iterator[tuple[str, Tensor]]:
    """Read all tensors of a file that fits the model, one after the other."""
    for name, numbers in read_tensors(path, model.state_dict()):
        tensor = torch.from_numpy(numbers)
        if not torch.isfinite(tensor).all():
            raise UserError(f"{path}: {name} holds numbers that are not finite")
        yield name, tensor


def _assign(model: Model, tensors: Iterable[tuple[str, Tensor]]) -> None:
    state = model.state_dict()
    with torch.no_grad():
        for name, tensor in tensors:
            state[name].copy_(tensor)
