"""Reads PGN files of any size as training data, through the native parser."""

import re
from collections.abc import Iterator

import numpy as np

from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, ReadContext
from zerogames.data.record import SEARCH_KINDS, GameRecord, SearchColumns
from zerogames.data.record_game import RecordGame
from zerogames.data.text_blocks import cut_text
from zerogames_chess import _data

_EVENT = re.compile(rb'\n(?=\[Event ")')
_AFTER_EMPTY_LINE = re.compile(rb"\n\r?\n(?=\[)")
_PREAMBLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|%[^\n]*\n)*")
_NONE = SEARCH_KINDS.index("none")
DERIVED_TAGS = ("FEN", "SetUp", "Variant", "Result", "Termination")
"""PGN tags that a record holds in fields of its own, not in `tags`."""


class PgnFormat:
    """Reads PGN games; the policy target is the move played."""

    name = "PGN"
    suffixes = (".pgn", ".pgn.gz", ".pgn.zst")

    def matches(self, file: DataFile, head: bytes) -> bool:
        """Tell whether the first lines hold a tag or a first move."""
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        while text.startswith(b"%"):  # escape lines
            text = text.partition(b"\n")[2].lstrip()
        tag = text[:1] == b"[" and b'"' in text.partition(b"\n")[0]
        return b"\0" not in head and (tag or text.startswith(b"1. "))

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """Cut the file into blocks of whole games, a few hundred kilobytes each."""
        has_events = b'[Event "' in file.head()
        boundary = _EVENT if has_events else _AFTER_EMPTY_LINE
        yield from cut_text(file, boundary, preamble=_PREAMBLE)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """Yield the main lines; broken games are added to the problems by number and players."""
        found = _data.read_pgn(block.load(), context.engine_values)
        for number, game in enumerate(found, block.first_game + 1):
            name = f"{block.name} game {number}"
            if game.error:
                context.problems.add(f"{name}{players_of(game)}", decode(game.error))
                continue
            yield RecordGame(name, "PGN", to_record(game), context)


def to_record(game: _data.PgnGame) -> GameRecord:
    """Convert a parsed game to a record."""
    return GameRecord(
        game="chess:variant=960" if game.chess960 else "chess",
        start=game.start,
        actions=game.actions,
        result=game.result,
        reason=decode(game.reason),
        search=_search(game),
        tags={name: decode(value) for name, value in game.tags.items() if name not in DERIVED_TAGS},
        comments=_comments(game),
    )


def _comments(game: _data.PgnGame) -> dict[int, str]:
    """Return the comments by the ply before them, -1 for the start; runs of blanks become one."""
    texts: dict[int, str] = {}
    for ply, text in game.comments:
        words = [*texts.get(ply, "").split(), *decode(text).split()]
        if words:
            texts[ply] = " ".join(words)
    return texts


def _search(game: _data.PgnGame) -> SearchColumns | None:
    """Return the engine values of the comments, or None if there are none."""
    values = game.values
    if len(values) == 0 or np.isnan(values).all():
        return None
    columns = dict.fromkeys(("root_q", "best_q", "played_q"), values)
    return SearchColumns.values_only(columns, np.full(len(values), _NONE, np.uint8))


def players_of(game: _data.PgnGame) -> str:
    """Return the names of both players in brackets, for messages."""
    tags = game.tags
    names = [decode(tags.get(side, b"?"))[:40] for side in ("White", "Black")]
    return f" ({names[0]} - {names[1]})"


def decode(text: bytes) -> str:
    """Decode UTF-8, or Latin-1 as old files have it."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")
