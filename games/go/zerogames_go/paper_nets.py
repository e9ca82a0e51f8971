"""Go's paper nets: the names of the MobileNet-for-Go papers and what they stand for.

    a0.<blocks>.<filters>                     a0.small   a0.small.avg   a0.small.avg.conv.bin
    mobile.avg.<blocks>.<trunk>.<filters>     mobile.small
    mobile.conv.avg.bin.<blocks>.<trunk>.<filters>       mobile.small.conv.avg.bin

`avg` is the pooled value head (`value_head="gap"`): the trunk averaged over the board, so that the
same weights serve every board size; its layers are `zerogames.nets.heads.PooledHead`. `conv` is the
fully convolutional policy, `bin` trains the value with binary cross-entropy instead of mean squared
error, and a final `.val4` weighs the value's loss by 4. The names serve any game on a square board
of points.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zerogames.errors import UserError, unknown_name
from zerogames.game import Game
from zerogames.nets.names import apply_options
from zerogames.nets.spec import KernelStage, NetSpec

_A0: dict[str, Any] = {"block": "res", "policy": "az", "value_head": "az"}
_A0_BIN: dict[str, Any] = {"block": "golois", "policy": "points", "value_head": "gap"}
_MOBILE: dict[str, Any] = {"block": "mob", "policy": "az", "value_head": "gap"}
_MOBILE_BIN: dict[str, Any] = {"block": "mob", "policy": "points", "value_head": "gap"}


def _net(settings: Mapping[str, Any], blocks: int, channels: int, expanded: int) -> dict[str, Any]:
    """A net's spec as far as its family and sizes say."""
    stage = KernelStage(
        block=settings["block"], kernel="3x3", blocks=blocks, channels=channels, expanded=expanded
    )
    heads = {name: value for name, value in settings.items() if name != "block"}
    return {"stages": (stage,), **heads}


NAMED: dict[str, dict[str, Any]] = {
    "a0.small": _net(_A0, 8, 66, 66),
    "a0.small.avg": _net({**_A0, "value_head": "gap"}, 10, 63, 63),
    "a0.small.avg.conv.bin": _net(_A0_BIN, 13, 64, 64),
    "mobile.small": _net(_MOBILE, 25, 64, 200),
    "mobile.small.conv.avg.bin": _net(_MOBILE_BIN, 33, 64, 200),
}
"""The papers' nets below one million parameters."""

_SIZED: dict[str, tuple[dict[str, Any], int]] = {
    "a0": (_A0, 2),
    "mobile.avg": (_MOBILE, 3),
    "mobile.conv.avg.bin": (_MOBILE_BIN, 3),
}
FORMS = (*NAMED, "a0.<n>.<f>", "mobile.avg.<n>.<t>.<f>", "mobile.conv.avg.bin.<n>.<t>.<f>")


def is_paper_name(name: str) -> bool:
    """Return whether the name belongs to this family, well formed or not."""
    return name.strip().partition(".")[0] in ("a0", "mobile")


def parse_paper_name(name: str, game: Game, *, first_player_planes: Mapping[str, int]) -> NetSpec:
    """Read a name of the papers.

    Args:
        name: The name, with `+` options as in `zerogames.nets.names`.
        game: The game the net is for.
        first_player_planes: By encoding, the plane that is one when Black is to play; these nets
            predict "White won" and the model turns it to the side to move.
    """
    trunk, *options = name.strip().split("+")
    trunk, weight = _split_weight(trunk)
    binary = ".bin" in trunk
    spec = NetSpec(
        name=name.strip(),
        game=game.spec.identity,
        encoding=next(iter(game.encodings)),
        convention="keras",
        pass_logit=False,
        value="binary",
        value_loss="binary" if binary else "mse",
        value_weight=weight,
        l2=1e-4,
        **_trunk(trunk),
    )
    spec = apply_options(spec, options, game)
    if spec.value != "binary":
        raise UserError(
            f"net '{name}': these nets predict who wins as the papers do; "
            f"for a {spec.value} value take a name like mob_3x3_6x64"
        )
    encoding = spec.encoding.partition(":")[0]
    if encoding not in first_player_planes:
        raise unknown_name("encoding with the colour to play", encoding, first_player_planes)
    spec = replace(spec, first_player_plane=first_player_planes[encoding])
    spec.check()
    return spec


def _split_weight(trunk: str) -> tuple[str, float]:
    found = re.fullmatch(r"(.*)\.val(\d{1,3})", trunk, re.ASCII)
    return (found[1], float(found[2])) if found else (trunk, 1.0)


def _trunk(name: str) -> dict[str, Any]:
    if name in NAMED:
        return NAMED[name]
    words = [part for part in name.split(".") if not part.isdecimal()]
    numbers = [int(part) for part in name.split(".") if re.fullmatch(r"\d{1,6}", part, re.ASCII)]
    form = ".".join(words)
    if form not in _SIZED or name != ".".join([form, *map(str, numbers)]):
        raise unknown_name("net", name, FORMS)
    settings, count = _SIZED[form]
    if len(numbers) != count:
        wanted = next(known for known in FORMS if known.startswith(f"{form}.<"))
        raise UserError(f"net '{name}' has {len(numbers)} sizes; write {wanted}")
    blocks, channels = numbers[:2]
    return _net(settings, blocks, channels, numbers[-1])
