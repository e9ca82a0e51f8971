"""Go by area scoring on 2x2 to 25x25: rules, ladders, encodings, SGF."""

from zerogames.game import GamePlugin
from zerogames_go.go import Go
from zerogames_go.options import GoOptions
from zerogames_go.sgf import read_sgf, write_sgf

__all__ = ["Go", "GoOptions", "game", "read_sgf", "write_sgf"]

game = GamePlugin(name="go", title="Go", options=GoOptions, create=Go)
