"""Chess data: Lc0's training chunks and PGN."""

from zerogames.data.formats import GameData
from zerogames.game import Game
from zerogames_chess import _data
from zerogames_chess.data.chunks import ChunkFormat, write_chunk
from zerogames_chess.data.pgn import PgnFormat

__all__ = ["ChunkFormat", "PgnFormat", "game_data", "write_chunk"]


def game_data(game: Game) -> GameData:
    """What `zerogames.data` reads for chess."""
    return GameData(formats=(ChunkFormat(), PgnFormat()), replay=_data.replay_samples)
