"""Go data: Leela Zero, ELF OpenGo, Golois and SGF."""

from collections.abc import Mapping
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from zerogames.data.formats import GameData, text_writer
from zerogames.data.header import GameHeader
from zerogames.game import State
from zerogames_go import _native
from zerogames_go.data.elf import ElfFormat
from zerogames_go.data.golois import GoloisFormat
from zerogames_go.data.leela import LeelaBinaryFormat, LeelaDebugFormat, LeelaTextFormat
from zerogames_go.data.sgf import SgfFormat
from zerogames_go.go import Go
from zerogames_go.sgf import read_sgf, write_sgf

__all__ = [
    "ElfFormat",
    "GoloisFormat",
    "LeelaBinaryFormat",
    "LeelaDebugFormat",
    "LeelaTextFormat",
    "SgfFormat",
    "game_data",
]


def game_data(game: Go) -> GameData:
    """Return the files of Go; SGF of any board size."""
    return GameData(
        formats=(
            LeelaTextFormat(),
            LeelaBinaryFormat(),
            LeelaDebugFormat(),
            ElfFormat(),
            GoloisFormat(),
            SgfFormat(),
        ),
        readers={"sgf": partial(read_sgf, options=game.options)},
        writers={"sgf": text_writer(".sgf", write_sgf)},
        tags=sgf_tags,
        end=end_numbers,
    )


def sgf_tags(header: GameHeader) -> dict[str, str]:
    """Return the tags by their names in SGF."""
    tags = {
        "EV": header.event,
        "DT": header.date,
        "RO": header.round,
        "PB": header.first,
        "PW": header.second,
    }
    return {name: value for name, value in tags.items() if value is not None}


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
