"""What differs between the protocols of the UCI family."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from zerogames.protocol.options import Option, OptionValue
from zerogames.protocol.position import Position

P = TypeVar("P", bound=Position, covariant=True)


class Dialect(Protocol[P]):
    """The words of one protocol, and how it writes positions."""

    @property
    def name(self) -> str:
        """The word that opens a conversation; with `ok` and `newgame` it makes two more."""

    @property
    def clocks(self) -> tuple[str, str]:
        """The letters of the first and the second player's clock."""

    @property
    def options(self) -> Sequence[Option]:
        """The options that only this protocol has."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Further names of options."""

    @property
    def spaces_in_options(self) -> bool:
        """Whether names of options may have spaces."""

    @property
    def mate_in_plies(self) -> bool:
        """Whether a mate is counted in plies, not in own moves."""

    @property
    def show_wdl(self) -> bool:
        """Whether lines tell win, draw and loss."""

    @property
    def silent_commands(self) -> Sequence[str]:
        """Commands that end a search and want no answer."""

    def set_option(self, name: str, value: OptionValue) -> None:
        """Take the value of one of `options`."""

    def initial_position(self) -> P:
        """The start position."""

    def parse_position(self, words: Sequence[str]) -> P:
        """Read what stands behind `position`."""

    def describe(self, position: Position) -> str:
        """The position as the protocol writes it, with the word before it."""

    def answer_without_search(self, words: Sequence[str]) -> str | None:
        """The whole answer to a `go` with these words that no search answers."""

    def final_move(self, position: Position) -> str | None:
        """What stands for a move where there is none, or none is needed; None for a search."""
