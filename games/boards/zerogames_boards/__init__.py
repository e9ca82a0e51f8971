"""The board games of the field, each with native rules in one header."""

from zerogames.game import GamePlugin
from zerogames_boards.amazons import Amazons, AmazonsOptions
from zerogames_boards.ataxx import Ataxx, AtaxxOptions
from zerogames_boards.breakthrough import Breakthrough, BreakthroughOptions
from zerogames_boards.connect6 import Connect6, Connect6Options
from zerogames_boards.gomoku import Gomoku, GomokuOptions
from zerogames_boards.hex import Hex, HexOptions

__all__ = [
    "Amazons",
    "AmazonsOptions",
    "Ataxx",
    "AtaxxOptions",
    "Breakthrough",
    "BreakthroughOptions",
    "Connect6",
    "Connect6Options",
    "Gomoku",
    "GomokuOptions",
    "Hex",
    "HexOptions",
    "amazons",
    "ataxx",
    "breakthrough",
    "connect6",
    "gomoku",
    "hex_",
]

amazons = GamePlugin(name="amazons", title="Amazons", options=AmazonsOptions, create=Amazons)
ataxx = GamePlugin(name="ataxx", title="Ataxx", options=AtaxxOptions, create=Ataxx)
breakthrough = GamePlugin(
    name="breakthrough", title="Breakthrough", options=BreakthroughOptions, create=Breakthrough
)
connect6 = GamePlugin(name="connect6", title="Connect6", options=Connect6Options, create=Connect6)
gomoku = GamePlugin(name="gomoku", title="Gomoku", options=GomokuOptions, create=Gomoku)
hex_ = GamePlugin(name="hex", title="Hex", options=HexOptions, create=Hex)
