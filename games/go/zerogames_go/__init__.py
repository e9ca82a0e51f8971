"""Go by area scoring on 2x2 to 25x25: rules, ladders, encodings, SGF."""

from pathlib import Path
from typing import TYPE_CHECKING

from zerogames.game import GamePlugin
from zerogames_go.go import Go
from zerogames_go.options import GoOptions
from zerogames_go.sgf import read_sgf, write_sgf

if TYPE_CHECKING:
    from zerogames.data.formats import GameData
    from zerogames.nets.model import Model

__all__ = ["Go", "GoOptions", "game", "read_sgf", "write_sgf"]


def _game_data(game: Go) -> "GameData":
    from zerogames_go.data import game_data

    return game_data(game)


def _read_net(path: Path) -> "Model":
    from zerogames_go.foreign_nets import read_net

    return read_net(path)


game = GamePlugin(
    name="go",
    title="Go",
    options=GoOptions,
    create=Go,
    data=_game_data,
    net_formats=dict.fromkeys((".bin.gz", ".txt.gz", ".gz", ".bin", ".txt"), _read_net),
)
