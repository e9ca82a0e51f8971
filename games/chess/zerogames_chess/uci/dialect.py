"""What is peculiar to UCI among the protocols of its family."""

from collections.abc import Mapping, Sequence

from zerogames.protocol.options import Option, OptionValue
from zerogames.protocol.position import Position
from zerogames_chess.uci.position import UciPosition


class UciDialect:
    """The words of UCI."""

    name = "uci"
    clocks = ("w", "b")
    options: Sequence[Option] = (
        Option(name="UCI_Chess960", kind="check", default=False),
        Option(name="UCI_ShowWDL", kind="check", default=False),
    )
    aliases: Mapping[str, str] = {}
    spaces_in_options = True
    mate_in_plies = False
    silent_commands: Sequence[str] = ()

    def __init__(self) -> None:
        self.show_wdl = self._chess960 = False

    def set_option(self, name: str, value: OptionValue) -> None:
        """Take the value of one of `options`."""
        if name == "UCI_Chess960":
            self._chess960 = bool(value)
        else:
            self.show_wdl = bool(value)

    def initial_position(self) -> UciPosition:
        """The usual array."""
        return UciPosition.initial()

    def parse_position(self, words: Sequence[str]) -> UciPosition:
        """Read `startpos` or `fen FEN`, then `moves ...`."""
        return UciPosition.parse(words, chess960=self._chess960)

    def describe(self, position: Position) -> str:
        """The FEN."""
        return f"fen {position.state}"

    def answer_without_search(self, words: Sequence[str]) -> str | None:
        """Every `go` is a search."""
        return None

    def final_move(self, position: Position) -> str | None:
        """At mate and stalemate there is no move."""
        return None if position.legal_moves else "(none)"
