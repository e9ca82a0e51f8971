"""Connect Four and Othello: small native games, the models for a new plugin."""

from zerogames.data.formats import GameData
from zerogames.game import Game, GamePlugin
from zerogames_classics import _native
from zerogames_classics.connect4 import Connect4, Connect4Options
from zerogames_classics.othello import Othello, OthelloOptions

__all__ = [
    "Connect4",
    "Connect4Options",
    "Othello",
    "OthelloOptions",
    "connect4",
    "game_data",
    "othello",
]

connect4 = GamePlugin(name="connect4", title="Connect4", options=Connect4Options, create=Connect4)
othello = GamePlugin(name="othello", title="Othello", options=OthelloOptions, create=Othello)


def game_data(game: Game) -> GameData:
    """What `zerogames.data` needs for both games: shards are replayed natively."""
    return GameData(replay=_native.replay_samples)
