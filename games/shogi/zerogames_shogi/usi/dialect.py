"""What is peculiar to USI among the protocols of its family."""

from collections.abc import Mapping, Sequence

from zerogames.protocol.options import Option, OptionValue
from zerogames.protocol.position import Position
from zerogames_shogi.usi.position import UsiPosition


class UsiDialect:
    """The words of USI. Options and info lines are those of UCI, but for a few names."""

    name = "usi"
    clocks = ("b", "w")
    options: Sequence[Option] = (
        Option(
            name="EnteringKingRule",
            kind="combo",
            default="27points",
            choices=("27points", "none"),
        ),
    )
    aliases: Mapping[str, str] = {"USI_Hash": "Hash", "USI_Ponder": "Ponder"}
    spaces_in_options = False
    mate_in_plies = True
    show_wdl = False
    silent_commands: Sequence[str] = ("gameover",)

    def __init__(self) -> None:
        self._declares = True

    def set_option(self, name: str, value: OptionValue) -> None:
        """Take the rule of the entering king."""
        self._declares = value == "27points"

    def initial_position(self) -> UsiPosition:
        """The usual array."""
        return UsiPosition.initial(declares=self._declares)

    def parse_position(self, words: Sequence[str]) -> UsiPosition:
        """Read `startpos` or `sfen SFEN`, then `moves ...`."""
        return UsiPosition.parse(words, declares=self._declares)

    def describe(self, position: Position) -> str:
        """The SFEN."""
        return f"sfen {position.state}"

    def answer_without_search(self, words: Sequence[str]) -> str | None:
        """Problems of mate (`go mate`) are not solved; the protocol has an answer for that."""
        return "checkmate notimplemented" if "mate" in words else None

    def final_move(self, position: Position) -> str | None:
        """`win` where the entering king may declare, `resign` without a legal move."""
        if not position.legal_moves:
            return "resign"
        assert isinstance(position, UsiPosition)
        return "win" if self._declares and position.state.may_declare else None
