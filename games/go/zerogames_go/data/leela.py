"""Training data of Leela Zero: text (any board size) and the training script's binary form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerogames.data.chunk_game import ChunkGame
from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, ReadContext
from zerogames.data.record import GameRecord
from zerogames.errors import UserError
from zerogames_go import _data

_PLANE = re.compile(rb"[0-9a-f]+")
_BINARY_SIZE = 2176
_BINARY_VERSION = (1).to_bytes(4, "little")


def board_size(context: ReadContext) -> int:
    """Rows of the boards that are wanted."""
    return context.game.spec.observation_shape[1]


class LeelaTextFormat:
    """19 lines a position: sixteen boards, side, policy, result."""

    name = "Leela Zero text"
    suffixes = (".gz",)

    def matches(self, file: DataFile, head: bytes) -> bool:
        """Equally long first lines of hexadecimal digits."""
        lines = head.split(b"\n", 3)
        return (
            len(lines) == 4
            and len(lines[0]) >= 2
            and len(lines[0]) == len(lines[1]) == len(lines[2])
            and all(_PLANE.fullmatch(line.rstrip(b"\r")) for line in lines[:3])
        )

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """A file is one block: the writer keeps them small."""
        yield Block(file.name, file.read)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """The games of a file; one wrong record makes all of it wrong."""
        chunk = _data.LeelaChunk.from_text(block.load(), board_size(context))
        if chunk.num_dropped:
            context.problems.add(block.name, f"{chunk.num_dropped} records with nan left out")
        yield from _games(block, chunk, "Leela Zero v1", context)


class LeelaDebugFormat:
    """The file of win rates that the engine writes beside its training text: no positions."""

    name = "Leela Zero debug (no positions)"
    suffixes = ()

    def matches(self, file: DataFile, head: bytes) -> bool:
        """The version, then resign percentage and net."""
        return re.match(rb"2\n\d+ \S+\n[-\d.]", head) is not None

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """Nothing."""
        yield from ()

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """Nothing."""
        yield from ()


class LeelaBinaryFormat:
    """2176 bytes a position, 19x19."""

    name = "Leela Zero binary"
    suffixes = ()

    def matches(self, file: DataFile, head: bytes) -> bool:
        """Recognise the version number and bytes that only hold 0 and 1."""
        return head[:4] == _BINARY_VERSION and (
            len(head) < _BINARY_SIZE or max(head[_BINARY_SIZE - 2 : _BINARY_SIZE]) <= 1
        )

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """A file is one block."""
        yield Block(file.name, file.read)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """The games of a file."""
        if board_size(context) != 19:
            raise UserError(f"19x19 positions do not fit {context.game.spec.identity}")
        yield from _games(
            block, _data.LeelaChunk.from_binary(block.load()), "Leela Zero v2", context
        )


def _games(
    block: Block, chunk: _data.LeelaChunk, kind: str, context: ReadContext
) -> Iterator[DataGame]:
    for number in range(chunk.num_games):
        name = f"{block.name} game {number + 1}"
        yield LeelaGame(name, kind, chunk, number, context.encoding)


@dataclass(frozen=True, eq=False)
class LeelaGame(ChunkGame[_data.LeelaChunk]):
    """A game of Leela Zero's records."""

    encoding: str

    def samples(self, chosen: NDArray[np.int32]) -> list[bytes]:
        """Positions set up again from their boards, so that any encoding can be made."""
        return self.chunk.samples(self.number, chosen, self.encoding)

    def record(self) -> GameRecord:
        """Refuse: neither komi nor the last move are stored."""
        raise UserError("Leela Zero's records do not hold whole games; training reads them as such")
