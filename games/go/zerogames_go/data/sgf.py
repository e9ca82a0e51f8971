"""SGF collections of any size as training data."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, ReadContext
from zerogames.data.record import SEARCH_KINDS, GameRecord, SearchColumns
from zerogames.data.record_game import RecordGame
from zerogames.data.text_blocks import cut_text
from zerogames.errors import UserError
from zerogames_go.sgf import read_sgf

# A tree on a new line whose first node has a root property: no variation looks like that.
_TREE = re.compile(rb"\n\s*(?=\(\s*;\s*(?:FF|GM|SZ|CA|AP|PB|PW|RU|KM)\s*\[)")
_PREDICTED = re.compile(r"PredV:\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")
_CHANCES = re.compile(r"\s*([01]\.\d+) ([01]\.\d+) ([01]\.\d+) -?\d")


class SgfFormat:
    """Games in SGF: the policy is the move played."""

    name = "SGF"
    suffixes = (".sgf", ".sgf.gz")

    def matches(self, file: DataFile, head: bytes) -> bool:
        """A tree within the first bytes; text may come before it."""
        start = re.search(rb"\(\s*;", head)
        return (
            b"\0" not in head[:64]
            and start is not None
            and re.search(rb"[A-Z]\[", head) is not None
        )

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """Whole games, a few hundred kilobytes at a time."""
        yield from cut_text(file, _TREE)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """The main lines; broken games go to the problems by number."""
        number = block.first_game

        def broken(error: UserError) -> None:
            nonlocal number
            number += 1
            reason = str(error).partition(": ")[2] or str(error)
            context.problems.add(f"{block.name} game {number}", reason)

        options = getattr(context.game, "options", None)
        for record in read_sgf(block.load(), options=options, on_error=broken):
            number += 1
            if context.engine_values:
                record = replace(record, search=_search(record))
            yield RecordGame(f"{block.name} game {number}", "SGF", record, context)


def _search(record: GameRecord) -> SearchColumns | None:
    """Values from comments: ELF's `PredV` (Black's view), KataGo's chances (White's, Black's)."""
    plies = len(record.actions)
    values = np.full(plies, np.nan, np.float32)
    draws = np.full(plies, np.nan, np.float32)
    for ply, text in record.comments.items():
        if not 0 <= ply < plies:
            continue
        sign = 1 if _black_to_move(record, ply) else -1
        if found := _PREDICTED.search(text):
            values[ply] = sign * max(-1.0, min(1.0, float(found[1])))
        elif chances := _CHANCES.match(text):
            white, black, none = (float(number) for number in chances.groups())
            values[ply], draws[ply] = sign * (black - white), none
    return None if np.isnan(values).all() else values_only(values, draws)


def values_only(values: NDArray[np.float32], draws: NDArray[np.float32]) -> SearchColumns:
    """Search columns that hold nothing but q and d of the mover."""
    columns = {
        f"{whose}_{what}": column
        for whose in ("root", "best", "played")
        for what, column in (("q", values), ("d", draws))
    }
    kinds = np.full(len(values), SEARCH_KINDS.index("none"), np.uint8)
    return SearchColumns.values_only(columns, kinds)


def _black_to_move(record: GameRecord, ply: int) -> bool:
    white_first = "PL[W]" in record.start
    return (ply % 2 == 0) != white_first
