"""Go by area scoring on 2x2 to 25x25: rules, ladders, encodings, SGF."""

from typing import TYPE_CHECKING

from zerogames.game import GamePlugin
from zerogames_go.go import Go
from zerogames_go.options import GoOptions
from zerogames_go.sgf import read_sgf, write_sgf

if TYPE_CHECKING:
    from zerogames.data.formats import GameData

__all__ = ["Go", "GoOptions", "game", "read_sgf", "write_sgf"]


def _game_data(game: Go) -> "GameData":
    from zerogames_go.data import game_data

    return game_data(game)


game = GamePlugin(name="go", title="Go", options=GoOptions, create=Go, data=_game_data)
