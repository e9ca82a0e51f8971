"""Connect Four and Othello: small native games, the models for a new plugin."""

from zerogames.game import GamePlugin
from zerogames_classics.connect4 import Connect4, Connect4Options
from zerogames_classics.othello import Othello, OthelloOptions

__all__ = [
    "Connect4",
    "Connect4Options",
    "Othello",
    "OthelloOptions",
    "connect4",
    "othello",
]

connect4 = GamePlugin(name="connect4", title="Connect4", options=Connect4Options, create=Connect4)
othello = GamePlugin(name="othello", title="Othello", options=OthelloOptions, create=Othello)
