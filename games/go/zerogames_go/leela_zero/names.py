"""The names of Leela Zero's nets: `leelaz_<blocks>x<channels>`, e.g. `leelaz_40x256`.

`leelaz2_...` is a net of version 2 of the file, whose value is Black's (converted ELF OpenGo).
"""

import re

from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets.names import apply_options
from zerogames.nets.spec import KernelStage, NetSpec

PREFIX = "leelaz"
POLICY = "leelaz"
ENCODING = "leela-18"
WHITE_TO_PLAY = 17
"""The plane that is one when White is to play."""
_FORM = "leelaz_<blocks>x<channels>, e.g. leelaz_15x192"


def is_leela_zero_name(name: str) -> bool:
    """Return whether the name belongs to this family, well formed or not."""
    return name.strip().startswith(PREFIX)


def parse_leela_zero_name(name: str, game: Game) -> NetSpec:
    """Read a name; raise `UserError` that names the wrong part."""
    trunk, *options = name.strip().split("+")
    found = re.fullmatch(r"leelaz(2?)_(\d{1,4})x(\d{1,5})", trunk, re.ASCII)
    if found is None:
        raise UserError(f"'{name}' is not the name of a net of Leela Zero; write {_FORM}")
    channels = int(found[3])
    spec = NetSpec(
        name=name.strip(),
        game=game.spec.identity,
        encoding=ENCODING,
        stages=(
            KernelStage(
                block="res",
                kernel="3x3",
                blocks=int(found[2]),
                channels=channels,
                expanded=channels,
            ),
        ),
        policy=POLICY,
        value="scalar",
        value_head="az",
        value_loss="mse",
        first_player_plane=WHITE_TO_PLAY if found[1] else None,
        l2=1e-4,
    )
    spec = apply_options(spec, options, game)
    spec.check()
    return spec
