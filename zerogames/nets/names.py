"""Reading net names that every game understands: `<stage>[-<stage>...][+<option>...]`.

A stage is `<block>_<kernel>[_<form>]_<blocks>x<channels>`, see `zerogames.nets.block_kinds`. After
the trunk, `+` adds what differs from the defaults: heads (`+conv`, `+scalar`, `+mlh`), sizes
(`+se4`, `+x4`), the random patterns' seed (`+seed7`) or an encoding of the game.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from zerogames_kernels import Pattern, random_pattern, square_pattern

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames.nets.block_kinds import SHAPE, SQUARES, StageText, block_kinds
from zerogames.nets.head_kinds import policy_kinds
from zerogames.nets.spec import (
    EncoderStage,
    InputScale,
    KernelStage,
    NetSpec,
    Stage,
    Value,
    ValueLoss,
)

MAX_STAGES = 16
_VALUE_LOSS: dict[Value, ValueLoss] = {
    "wdl": "cross-entropy",
    "scalar": "mse",
    "binary": "binary",
}
_SIZED = re.compile(r"(tokens|mlh)(?:(\d{1,4})\.(\d{1,5}))?", re.ASCII)
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
    stages = tuple(_read_stage(name, part, game) for part in trunk.split("-", MAX_STAGES))
    spec = NetSpec(
        name=name.strip(),
        game=game.spec.identity,
        encoding=next(iter(game.encodings)),
        stages=stages,
        policy=_POLICY_NAMES.get(game.heads.policy[0], game.heads.policy[0]),
        value=cast(Value, game.heads.value[0]),
    )
    spec = apply_options(spec, options, game)
    depthwise = any(isinstance(one, KernelStage) and not one.is_residual for one in stages)
    if spec.activation != "relu" and depthwise:
        raise UserError(f"net '{name}': only res and enc blocks have the activation mish")
    scale = (input_scales or {}).get(spec.encoding.partition(":")[0], ())
    spec = replace(spec, input_scale=scale, value_loss=_VALUE_LOSS[spec.value])
    spec.check()
    for number, stage in enumerate(spec.stages):
        if number and isinstance(stage, EncoderStage) and stage.positions in ("map", "dense"):
            raise UserError(
                f"net '{name}': the positions '{stage.positions}' are for encoders that read the "
                "input; take table, offsets or free"
            )
        if stage.pattern_layers:
            group_patterns(spec, stage, game, 0)
    return spec


def _read_stage(name: str, text: str, game: Game) -> Stage:
    parts = text.split("_")
    if len(parts) < 3 or not all(parts):
        if name and Path(name).is_dir():
            raise UserError(f"'{name}' is a folder; name a net file")
        raise UserError(f"'{name}' is not a net name; write {SHAPE}")
    kinds = block_kinds(game)
    if parts[0] not in kinds:
        raise unknown_name("block", parts[0], kinds)
    sizes = re.fullmatch(r"(\d{1,6})x(\d{1,6})((?:[a-z]\d{1,6})*)", parts[-1], re.ASCII)
    stage = StageText(
        net=name,
        block=parts[0],
        words=tuple(parts[1:-1]),
        blocks=int(sizes[1]) if sizes else 1,
        channels=int(sizes[2]) if sizes else 1,
        sizes=dict(_further_sizes(sizes[3])) if sizes else {},
    )
    read = kinds[parts[0]].read(stage, game)
    if not sizes:  # told last, as words come first
        raise UserError(f"net '{name}': '{parts[-1]}' is not <blocks>x<channels>, e.g. 6x96")
    return read


def _two(sized: re.Match[str], default: tuple[int, int]) -> tuple[int, int]:
    return (int(sized[2]), int(sized[3])) if sized[2] else default


def _further_sizes(text: str) -> list[tuple[str, int]]:
    return [(one[0], int(one[1:])) for one in re.findall(r"[a-z]\d+", text)]


def apply_options(spec: NetSpec, options: list[str], game: Game) -> NetSpec:
    """Apply what follows the trunk, e.g. `["conv", "scalar"]`."""
    heads = game.heads
    known = policy_kinds(game)
    policies = {
        kind: known[canonical]
        for kind in heads.policy
        if (canonical := _POLICY_NAMES.get(kind, kind)) in known
        and (canonical == "dense" or heads.policy_maps)
    }
    changes: dict[str, dict[str, Any]] = {
        "nopass": {"pass_logit": False},
        "pass": {"pass_logit": True},
        "gap": {"value_head": "gap"},
        "mish": {"activation": "mish"},
    }
    for kind_name, policy in policies.items():
        changes[kind_name] = changes[policy.name] = {"policy": policy.name, "policy_sizes": ""}
    if "conv" in heads.policy_maps:
        changes["points"] = {"policy": "points"}
    changes |= {kind: {"value": kind} for kind in heads.value if kind in get_args(Value)}
    if "moves_left" in heads.auxiliary:
        changes["mlh"] = {"moves_left": True}
    ends = [end.name for end in heads.ends]
    for option in options:
        number = re.fullmatch(r"(se|seed|val|x)(\d{1,6})", option, re.ASCII)
        sized = _SIZED.fullmatch(option)
        if number:
            spec = replace(spec, **_number_option(spec, number[1], int(number[2])))
        elif sized and sized[1] == "tokens":
            spec = replace(spec, value_head="tokens", value_sizes=_two(sized, spec.value_sizes))
        elif sized and "moves_left" in heads.auxiliary:
            sizes = _two(sized, spec.moves_left_sizes)
            spec = replace(spec, moves_left=True, moves_left_sizes=sizes)
        elif option.partition(":")[0] in game.encodings:
            spec = replace(spec, encoding=option)
        elif option in changes:
            spec = replace(spec, **changes[option])
        elif option in ends:
            spec = replace(spec, ends=tuple(dict.fromkeys((*spec.ends, option))))
        elif kind := next((one for one in policies.values() if one.fits_sizes(option)), None):
            spec = replace(spec, policy=kind.name, policy_sizes=option.removeprefix(kind.name))
        else:
            numbers = (
                *("se<ratio>", "seed<number>", "val<weight>", "x<expansion>"),
                *("tokens<numbers>.<units>",),
            )
            raise unknown_name("net option", option, [*changes, *ends, *numbers, *game.encodings])
    if spec.moves_left_sizes != NetSpec.moves_left_sizes and spec.value_head == "gap":
        raise UserError(f"net '{spec.name}': the pooled moves-left head has no sizes of its own")
    return spec


def _number_option(spec: NetSpec, kind: str, number: int) -> dict[str, Any]:
    if kind == "val":
        return {"value_weight": float(number)}
    field = {"se": "se_ratio", "seed": "pattern_seed", "x": "expanded"}[kind]
    stages = list(spec.stages)
    changed = 0
    for place, stage in enumerate(stages):
        if isinstance(stage, KernelStage) and not (kind == "x" and stage.is_residual):
            values: dict[str, Any] = {field: number * (stage.channels if kind == "x" else 1)}
            stages[place] = replace(stage, **values)
            changed += 1
    if not changed:
        blocks = "-".join(stage.block for stage in spec.stages)
        what = "expand" if kind == "x" else f"have '{kind}{number}'"
        which = "mob and cnx" if kind == "x" else "res, mob and cnx"
        raise UserError(f"net '{spec.name}': only {which} blocks {what}, not {blocks}")
    return {"stages": tuple(stages)}


def group_patterns(spec: NetSpec, stage: Stage, game: Game, layer: int) -> tuple[Pattern, ...]:
    """The patterns of the channel groups of the net's layer with patterns number `layer`."""
    assert isinstance(stage, KernelStage)
    patterns: tuple[Pattern, ...]
    if stage.random_taps:
        seed = stage.pattern_seed * 100_000 + layer
        patterns = (random_pattern(seed, taps=stage.random_taps),)
    elif stage.kernel in SQUARES:
        patterns = (square_pattern(int(stage.kernel[0])),)
    else:
        patterns = tuple(game.patterns[letter] for letter in stage.kernel)
    check_patterns(spec, stage, patterns, board(spec, game))
    return patterns


def net_patterns(spec: NetSpec, game: Game) -> tuple[tuple[Pattern, ...], ...]:
    """The patterns of every layer that has some; random ones are drawn from the net's seed."""
    stages = [stage for stage in spec.stages for _ in range(stage.blocks * stage.pattern_layers)]
    return tuple(group_patterns(spec, stage, game, layer) for layer, stage in enumerate(stages))


def check_patterns(
    spec: NetSpec, stage: Stage, patterns: tuple[Pattern, ...], board: tuple[int, int]
) -> None:
    """Raise `UserError` unless the patterns can share a layer of the net on this board."""
    taps: Mapping[str, int] = {pattern.name: len(pattern.offsets) for pattern in patterns}
    if len(set(taps.values())) > 1:
        counts = ", ".join(f"{name} {number}" for name, number in taps.items())
        raise UserError(f"net '{spec.name}': patterns of one layer need equal taps, not {counts}")
    if len(patterns) > stage.channels:
        raise UserError(
            f"net '{spec.name}': {len(patterns)} kernel groups need at least as many channels, "
            f"not {stage.channels}"
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
