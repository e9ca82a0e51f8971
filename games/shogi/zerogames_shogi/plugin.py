"""Shogi as a plugin: what it offers to the framework."""

from typing import TYPE_CHECKING

from zerogames.game import GamePlugin
from zerogames_shogi.shogi_game import Shogi, ShogiOptions

if TYPE_CHECKING:
    from zerogames.data.formats import GameData


def _game_data(game: Shogi) -> "GameData":
    from zerogames_shogi.game_data import game_data

    return game_data(game)


game = GamePlugin(name="shogi", title="Shogi", options=ShogiOptions, create=Shogi, data=_game_data)
