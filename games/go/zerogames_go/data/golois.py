"""Game files of the Golois program: the number of games, then one game a line.

A game is the winner's letter, the number of moves and pairs of point (0 to 360, 361 a pass) and
colour (1 Black, 0 White). Points are taken as ours; whether the author counts rows from the top is
not known, and a symmetry away.
"""

import re
from collections.abc import Iterator

import numpy as np

from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, ReadContext
from zerogames.data.record import GameRecord
from zerogames.data.record_game import RecordGame
from zerogames.data.text_blocks import cut_text
from zerogames.errors import UserError

_HEAD = re.compile(rb"\s*\d+\s*\n\s*[BW]\s+\d+(\s+\d+)*(\s|$)")
_LINE = re.compile(rb"\n(?=[BW])")
_COUNT = re.compile(rb"\s*\d+\s*")
_POINTS = 361


class GoloisFormat:
    """19x19 games as numbers."""

    name = "Golois games"
    suffixes = ()

    def matches(self, file: DataFile, head: bytes) -> bool:
        """A count, then a line of a game."""
        return _HEAD.match(head) is not None

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """Whole lines; the first holds the count."""
        yield from cut_text(file, _LINE, preamble=_COUNT)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """Broken lines go to the problems by number."""
        number = block.first_game
        for line in block.load().split(b"\n"):
            fields = line.split()
            if not fields or fields[0] not in (b"B", b"W"):
                if len(fields) > 1:
                    context.problems.add(f"{block.name} game {number + 1}", "not a line of a game")
                continue
            number += 1
            name = f"{block.name} game {number}"
            try:
                yield RecordGame(name, "Golois", _record(fields), context)
            except UserError as error:
                context.problems.add(name, str(error))


def _record(fields: list[bytes]) -> GameRecord:
    try:
        numbers = np.array(fields[1:], dtype=np.int64)
    except (ValueError, OverflowError):
        raise UserError("holds something that is no number") from None
    moves = numbers[1:].reshape(-1, 2) if len(numbers) % 2 else numbers[:0].reshape(0, 2)
    if len(numbers) == 0 or numbers[0] != len(moves) or len(numbers) != 1 + 2 * numbers[0]:
        raise UserError("the number of moves is wrong")
    points, colours = moves[:, 0], moves[:, 1]
    if len(moves) and (points.min() < 0 or points.max() > _POINTS):
        raise UserError("a point is outside 0 to 361")
    if not np.array_equal(colours, (np.arange(len(moves)) + 1) % 2):
        raise UserError("the colours do not alternate from Black on")
    return GameRecord(
        game="go",
        actions=points.astype(np.int32),
        result=1.0 if fields[0] == b"B" else -1.0,
    )
