"""Reading net names that every game understands: `<block>_<kernel>[_<form>]_<blocks>x<channels>`.

After the trunk, `+` adds what differs from the defaults: heads (`+conv`, `+scalar`, `+mlh`),
sizes (`+se4`, `+x4`), the random patterns' seed (`+seed7`) or an encoding of the game.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from zerogames_kernels import Pattern, random_pattern, square_pattern

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames.nets.head_kinds import policy_kinds
from zerogames.nets.spec import Block, Form, InputScale, NetSpec, Value, ValueLoss

BLOCKS: tuple[str, ...] = ("res", "mob", "cnx")
SQUARES: tuple[str, ...] = ("3x3", "5x5")
EXPANSION = {"res": 1, "mob": 6, "cnx": 4}
_VALUE_LOSS: dict[Value, ValueLoss] = {
    "wdl": "cross-entropy",
    "scalar": "mse",
    "binary": "binary",
}
_SHAPE = "<block>_<kernel>_<blocks>x<channels>, e.g. mob_3x3_6x64"
_POLICY_NAMES = {"classical": "dense", "az": "az", "alphazero": "az"}


def parse_net_name(
    name: str,
    game: Game,
    *,
    input_scales: Mapping[str, InputScale] | None = None,
) -> NetSpec:
    """Read a name of the general form; raise `UserError` that names the wrong part.

    Args:
        name: The name.
        game: The game the net is for.
        input_scales: By encoding, the factors for planes that do not hold zeros and ones.
    """
    trunk, *options = name.strip().split("+")
    parts = trunk.split("_")
    if len(parts) not in (3, 4) or not all(parts):
        if name and Path(name).is_dir():
            raise UserError(f"'{name}' is a folder; name a net file")
        raise UserError(f"'{name}' is not a net name; write {_SHAPE}")
    block, kernel, size = parts[0], parts[1], parts[-1]
    if block not in BLOCKS:
        raise unknown_name("block", block, BLOCKS)
    check_kernel(kernel, game)
    form = parts[2] if len(parts) == 4 else "native"
    if form not in get_args(Form):
        raise unknown_name("kernel form", form, get_args(Form))
    if block == "res" and form != "native":
        raise UserError(f"net '{name}': only depthwise kernels (mob, cnx) have a form '{form}'")
    sizes = re.fullmatch(r"(\d{1,6})x(\d{1,6})", size, re.ASCII)
    if not sizes:
        raise UserError(f"net '{name}': '{size}' is not <blocks>x<channels>, e.g. 6x96")
    channels = int(sizes[2])
    spec = NetSpec(
        name=name.strip(),
        game=game.spec.identity,
        encoding=next(iter(game.encodings)),
        block=cast(Block, block),
        kernel=kernel,
        form=cast(Form, form),
        blocks=int(sizes[1]),
        channels=channels,
        expanded=EXPANSION[block] * channels,
        se_ratio=0 if block == "cnx" else min(2, channels),
        policy=_POLICY_NAMES.get(game.heads.policy[0], game.heads.policy[0]),
        value=cast(Value, game.heads.value[0]),
    )
    spec = apply_options(spec, options, game)
    if spec.activation != "relu" and spec.block != "res":
        raise UserError(f"net '{name}': only residual nets have the activation mish")
    scale = (input_scales or {}).get(spec.encoding.partition(":")[0], ())
    spec = replace(spec, input_scale=scale, value_loss=_VALUE_LOSS[spec.value])
    spec.check()
    group_patterns(spec, game, 0)
    return spec


def check_kernel(kernel: str, game: Game) -> None:
    """Raise `UserError` unless the game's nets can have this kernel."""
    letters = "".join(game.patterns)
    if kernel in (*SQUARES, "rng"):
        return
    if not kernel or set(kernel) - set(letters):
        known = [*SQUARES, "rng", *([letters] if letters else [])]
        extra = f" (or any letters of {letters}, in the order of the groups)" if letters else ""
        raise UserError(f"{unknown_name(f'kernel of {game.spec.name}', kernel, known)}{extra}")
    if len(set(kernel)) != len(kernel):
        raise UserError(f"kernel '{kernel}' repeats a letter; each group is a different pattern")


def apply_options(spec: NetSpec, options: list[str], game: Game) -> NetSpec:
    """Apply what follows the trunk, e.g. `["conv", "scalar"]`."""
    heads = game.heads
    policies = {
        canonical: kind
        for kind in heads.policy
        if (canonical := _POLICY_NAMES.get(kind, kind)) in policy_kinds(game)
        and (canonical == "dense" or heads.policy_maps)
    }
    changes: dict[str, dict[str, Any]] = {
        "nopass": {"pass_logit": False},
        "pass": {"pass_logit": True},
        "gap": {"value_head": "gap"},
        "mish": {"activation": "mish"},
    }
    for canonical, kind in policies.items():
        changes[kind] = changes[canonical] = {"policy": canonical}
    if "conv" in heads.policy_maps:
        changes["points"] = {"policy": "points"}
    for kind in heads.value:
        if kind in get_args(Value):
            changes[kind] = {"value": kind}
    if "moves_left" in heads.auxiliary:
        changes["mlh"] = {"moves_left": True}
    ends = [end.name for end in heads.ends]
    for option in options:
        number = re.fullmatch(r"(se|seed|val|x)(\d{1,6})", option, re.ASCII)
        if number:
            spec = replace(spec, **_number_option(spec, number[1], int(number[2])))
        elif option.partition(":")[0] in game.encodings:
            spec = replace(spec, encoding=option)
        elif option in changes:
            spec = replace(spec, **changes[option])
        elif option in ends:
            spec = replace(spec, ends=tuple(dict.fromkeys((*spec.ends, option))))
        else:
            numbers = ("se<ratio>", "seed<number>", "val<weight>", "x<expansion>")
            raise unknown_name("net option", option, [*changes, *ends, *numbers, *game.encodings])
    return spec


def _number_option(spec: NetSpec, kind: str, number: int) -> dict[str, Any]:
    if kind == "se":
        return {"se_ratio": number}
    if kind == "seed":
        return {"pattern_seed": number}
    if kind == "val":
        return {"value_weight": float(number)}
    if spec.block in ("res", "golois"):
        raise UserError(f"net '{spec.name}': only mob and cnx blocks expand, not {spec.block}")
    return {"expanded": number * spec.channels}


def group_patterns(spec: NetSpec, game: Game, layer: int) -> tuple[Pattern, ...]:
    """The patterns of the channel groups of spatial layer number `layer`."""
    patterns: tuple[Pattern, ...]
    if spec.kernel == "rng":
        patterns = (random_pattern(spec.pattern_seed * 100_000 + layer),)
    elif spec.kernel in SQUARES:
        patterns = (square_pattern(int(spec.kernel[0])),)
    else:
        patterns = tuple(game.patterns[letter] for letter in spec.kernel)
    check_patterns(spec, patterns, board(spec, game))
    return patterns


def check_patterns(spec: NetSpec, patterns: tuple[Pattern, ...], board: tuple[int, int]) -> None:
    """Raise `UserError` unless the patterns can share a layer of the net on this board."""
    taps: Mapping[str, int] = {pattern.name: len(pattern.offsets) for pattern in patterns}
    if len(set(taps.values())) > 1:
        counts = ", ".join(f"{name} {number}" for name, number in taps.items())
        raise UserError(f"net '{spec.name}': patterns of one layer need equal taps, not {counts}")
    if len(patterns) > spec.channels:
        raise UserError(
            f"net '{spec.name}': {len(patterns)} kernel groups need at least as many channels, "
            f"not {spec.channels}"
        )
    height, width = board
    for pattern in patterns:
        if any(abs(row) >= height or abs(column) >= width for row, column in pattern.offsets):
            raise UserError(
                f"net '{spec.name}': pattern '{pattern.name}' reaches beyond a "
                f"{height}x{width} board; take 3x3 or a larger board"
            )


def board(spec: NetSpec, game: Game) -> tuple[int, int]:
    """Height and width of the net's input."""
    encoding = game.encodings[spec.encoding.partition(":")[0]]
    return encoding.height, encoding.width
