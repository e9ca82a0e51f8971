"""What a session and its engines need of a position, whatever the game."""

from collections.abc import Callable, Sequence
from typing import Protocol

from zerogames.game import State


class DividedState(State, Protocol):
    """A state that counts what follows its moves."""

    def divide(self, depth: int, check: Callable[[], None] | None = None) -> list[tuple[str, int]]:
        """The legal moves, each with the number of move sequences that begin with it."""


class Position(Protocol):
    """The position that a user interface speaks of, also after the rules ended the game."""

    @property
    def start(self) -> State:
        """The first position of the history that counts."""

    @property
    def actions(self) -> Sequence[int]:
        """Actions from `start` to `state`."""

    @property
    def state(self) -> DividedState:
        """The position to search."""

    @property
    def legal_moves(self) -> list[str]:
        """The legal moves as text, also where the rules ended the game but by mate."""

    @property
    def second_to_move(self) -> bool:
        """Whether the second player's clock runs."""

    @property
    def ply(self) -> int:
        """Plies since the start of the game."""
