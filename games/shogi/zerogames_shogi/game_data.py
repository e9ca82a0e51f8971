"""The data files of shogi: records in CSA's format."""

import re
from collections.abc import Iterator
from functools import partial

from zerogames.data.files import DataFile
from zerogames.data.formats import Block, DataGame, GameData, ReadContext, text_writer
from zerogames.data.header import GameHeader
from zerogames.data.record_game import RecordGame
from zerogames.data.text_blocks import cut_text
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames_shogi.csa import read_csa, write_csa

_SEPARATOR = re.compile(rb"\n/[ \t\r]*\n")
_HEAD = re.compile(rb"(\xef\xbb\xbf)?(\s|'[^\n]*\n)*(V[23]|N[+-]|\$[A-Z]|PI|P1|[+-])")
_STATEMENT = re.compile(rb"^(V[23]|N[+-]|PI|P1|[+-]\d{4}[A-Z]{2})", re.MULTILINE)


class CsaFormat:
    """Games in CSA's format: the policy is the move played."""

    name = "CSA"
    suffixes = (".csa", ".csa.gz")

    def matches(self, file: DataFile, head: bytes) -> bool:
        """A statement before anything else but comments, and one that no other format has."""
        head = head[:2000]
        return _HEAD.match(head) is not None and _STATEMENT.search(head) is not None

    def blocks(self, file: DataFile) -> Iterator[Block]:
        """Whole games, a few hundred kilobytes at a time."""
        yield from cut_text(file, _SEPARATOR)

    def games(self, block: Block, context: ReadContext) -> Iterator[DataGame]:
        """The games; broken ones go to the problems by number."""
        number = block.first_game

        def broken(error: UserError) -> None:
            nonlocal number
            number += 1
            context.problems.add(
                f"{block.name} game {number}", str(error).partition(": ")[2] or str(error)
            )

        for record in read_csa(block.load(), context.game, on_error=broken):
            number += 1
            yield RecordGame(f"{block.name} game {number}", "CSA", record, context)


def game_data(game: Game) -> GameData:
    """Return what is read and written."""
    return GameData(
        formats=(CsaFormat(),),
        readers={"csa": partial(read_csa, game=game)},
        writers={"csa": text_writer(".csa", partial(write_csa, game=game))},
        tags=csa_tags,
    )


def csa_tags(header: GameHeader) -> dict[str, str]:
    """Return the tags; Black is the first player."""
    tags = {
        "Event": header.event,
        "Site": header.site,
        "Date": header.date and header.date.replace("-", "/"),
        "Round": header.round,
        "Black": header.first,
        "White": header.second,
        "TimeControl": header.control,
        "Opening": header.opening,
    }
    return {name: value for name, value in tags.items() if value is not None}
