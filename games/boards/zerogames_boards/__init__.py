"""The board games of the field, each with native rules in one header."""

from zerogames.game import GamePlugin
from zerogames_boards.breakthrough import Breakthrough, BreakthroughOptions
from zerogames_boards.hex import Hex, HexOptions

__all__ = [
    "Breakthrough",
    "BreakthroughOptions",
    "Hex",
    "HexOptions",
    "breakthrough",
    "hex_",
]

breakthrough = GamePlugin(
    name="breakthrough", title="Breakthrough", options=BreakthroughOptions, create=Breakthrough
)
hex_ = GamePlugin(name="hex", title="Hex", options=HexOptions, create=Hex)
