"""Chess data: Lc0's training chunks and PGN."""

import gzip

from zerogames.data.formats import FileWriter, GameData
from zerogames.data.record import GameRecord
from zerogames.game import Game
from zerogames_chess.data.chunks import ChunkFormat, write_chunk
from zerogames_chess.data.pgn import PgnFormat

__all__ = ["ChunkFormat", "PgnFormat", "game_data", "write_chunk"]


def game_data(game: Game) -> GameData:
    """What `zerogames.data` reads for chess."""
    return GameData(
        formats=(ChunkFormat(), PgnFormat()),
        writers={"lc0": FileWriter(suffix=".gz", write=_packed_chunk)},
    )


def _packed_chunk(record: GameRecord) -> bytes:
    return gzip.compress(write_chunk(record), compresslevel=6, mtime=0)
