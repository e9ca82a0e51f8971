"""Go data: Leela Zero, ELF OpenGo, Golois and SGF."""

from zerogames.data.formats import GameData
from zerogames.game import Game
from zerogames_go import _data
from zerogames_go.data.elf import ElfFormat
from zerogames_go.data.golois import GoloisFormat
from zerogames_go.data.leela import LeelaBinaryFormat, LeelaDebugFormat, LeelaTextFormat
from zerogames_go.data.sgf import SgfFormat

__all__ = [
    "ElfFormat",
    "GoloisFormat",
    "LeelaBinaryFormat",
    "LeelaDebugFormat",
    "LeelaTextFormat",
    "SgfFormat",
    "game_data",
]


def game_data(game: Game) -> GameData:
    """What `zerogames.data` reads for Go."""
    return GameData(
        formats=(
            LeelaTextFormat(),
            LeelaBinaryFormat(),
            LeelaDebugFormat(),
            ElfFormat(),
            GoloisFormat(),
            SgfFormat(),
        ),
        replay=_data.replay_samples,
    )
