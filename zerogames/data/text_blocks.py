"""Cutting long text files where a game begins."""

import gzip
import re
import zlib
from collections.abc import Iterator

from zerogames.data.files import DataFile
from zerogames.data.formats import Block
from zerogames.errors import UserError

BLOCK_BYTES = 1 << 18
MAX_GAME_BYTES = 1 << 24
"""Text without the beginning of a game that is longer is refused."""
_BLANK = re.compile(rb"\s*")


def cut_text(
    file: DataFile,
    boundary: re.Pattern[bytes],
    *,
    preamble: re.Pattern[bytes] = _BLANK,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[Block]:
    """Cut a text where `boundary` ends, which is where a game begins, to blocks of some size.

    Each block knows how many games came before it; a beginning that `preamble` matches is no game.
    Raises `UserError` for damaged files; what came
    before the damage has been given by then.
    """
    first_game = 0
    held = b""
    enough = block_bytes
    with file.stream() as stream:
        while True:
            try:
                piece = stream.read(block_bytes)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                reason = str(error) or type(error).__name__
                raise UserError(f"{file.name}: damaged gzip ({reason})") from None
            except OSError as error:
                raise UserError(f"{file.name}: damaged or not readable ({error})") from None
            held += piece
            if not piece:
                break
            if len(held) < enough:
                continue
            cuts = [match.end() for match in boundary.finditer(held) if match.end() > 0]
            if not cuts:
                if len(held) > MAX_GAME_BYTES:
                    raise UserError(f"{file.name}: no game begins within {MAX_GAME_BYTES} bytes")
                enough = 2 * len(held)  # searching the same bytes again and again would be slow
                continue
            enough = block_bytes
            block, held = held[: cuts[-1]], held[cuts[-1] :]
            yield _block(file, block, first_game)
            first_game += len(cuts)
            if preamble.fullmatch(block, 0, cuts[0]):
                first_game -= 1
    if held.strip():
        yield _block(file, held, first_game)


def _block(file: DataFile, data: bytes, first_game: int) -> Block:
    return Block(file.name, lambda: data, first_game)
