"""Cutting long text files where a game begins."""

import gzip
import zlib
from collections.abc import Iterator

from zerogames.data.files import DataFile
from zerogames.data.formats import Block
from zerogames.errors import UserError

BLOCK_BYTES = 1 << 18
MAX_GAME_BYTES = 1 << 24
"""Text without the beginning of a game that is longer is refused."""


def cut_text(
    file: DataFile, mark: bytes, *, keep: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Cut a text before every `mark`, `keep` bytes into it, to blocks of about `block_bytes`.

    Each block knows how many marks came before it. Raises `UserError` for damaged files; what came
    before the damage has been given by then.
    """
    first_game = 0
    held = b""
    with file.stream() as stream:
        while True:
            try:
                piece = stream.read(block_bytes)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                reason = str(error) or type(error).__name__
                raise UserError(f"{file.name}: damaged gzip ({reason})") from None
            held += piece
            if not piece:
                break
            if len(held) < block_bytes:
                continue
            cut = held.rfind(mark)
            if cut <= 0:
                if len(held) > MAX_GAME_BYTES:
                    raise UserError(f"{file.name}: no game begins within {MAX_GAME_BYTES} bytes")
                continue
            block, held = held[: cut + keep], held[cut + keep :]
            yield _block(file, block, first_game)
            first_game += _count(block, mark, keep)
    if held.strip():
        yield _block(file, held, first_game)


def _count(block: bytes, mark: bytes, keep: int) -> int:
    return block.count(mark) + block.startswith(mark[keep:])


def _block(file: DataFile, data: bytes, first_game: int) -> Block:
    return Block(file.name, lambda: data, first_game)
