"""Chess data: Lc0's training chunks and PGN."""

from zerogames_chess.data.chunks import ChunkFormat, write_chunk
from zerogames_chess.data.pgn import PgnFormat

__all__ = ["ChunkFormat", "PgnFormat", "write_chunk"]
