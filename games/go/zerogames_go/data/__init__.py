"""Go data: Leela Zero, ELF OpenGo, Golois and SGF."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from zerogames.data.formats import GameData
from zerogames.game import Game, State
from zerogames_go import _native
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
        end=end_numbers,
    )


def end_numbers(state: State) -> Mapping[str, NDArray[np.float32]] | None:
    """Who owns each point, and Black's lead after komi, once both players have passed.

    A game that was resigned or cut off says neither.
    """
    position = cast(_native.Go, state)
    if position.passes < 2:
        return None
    return {
        "ownership": position.ownership().astype(np.float32).ravel(),
        "score": np.array([position.score], np.float32),
    }
