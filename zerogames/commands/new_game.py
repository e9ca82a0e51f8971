"""Start a game of your own, in Python: `zerogames new-game gobblet`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from zerogames.arguments import read_options


@dataclass(frozen=True, kw_only=True)
class NewGameSettings:
    """Write a package with a complete small game, to be changed into yours."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The game's name in `--game NAME`: small letters, digits and underscores."""
    out: Path | None = None
    """The folder to write; by default NAME, in the working directory."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames new-game`."""
    settings = read_options(NewGameSettings, argv, "zerogames new-game")
    from zerogames.new_game import write_package

    name, out = settings.name, settings.out or Path(settings.name)
    for file in write_package(name, out):
        print(out / file)
    print(f"next: pip install --editable {out}, then pytest {out} and")
    print(f"zerogames selfplay --game {name} --games 20 --simulations 16")
    return 0
