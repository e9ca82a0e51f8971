"""Shogi as a plugin: what it offers to the framework."""

from zerogames.game import GamePlugin
from zerogames_shogi.shogi_game import Shogi, ShogiOptions

game = GamePlugin(name="shogi", title="Shogi", options=ShogiOptions, create=Shogi)
