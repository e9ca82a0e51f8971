"""The data files of chess: PGN, and Lc0's training chunks."""

import gzip

from zerogames.data.formats import GameData, RecordWriter, text_writer
from zerogames.data.record import GameRecord
from zerogames.game import Game
from zerogames_chess.data import ChunkFormat, PgnFormat, write_chunk
from zerogames_chess.pgn import read_pgn, write_pgn


def game_data(game: Game) -> GameData:
    """Return what is read and written; chunks are written in version 6."""
    return GameData(
        formats=(ChunkFormat(), PgnFormat()),
        readers={"pgn": read_pgn},
        writers={
            "pgn": text_writer(".pgn", write_pgn),
            "lc0": RecordWriter(suffix=".gz", write=_packed_chunk, one_per_file=True),
        },
    )


def _packed_chunk(record: GameRecord) -> bytes:
    return gzip.compress(write_chunk(record), compresslevel=6, mtime=0)
