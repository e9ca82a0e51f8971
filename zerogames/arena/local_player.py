"""What the players have in common that play in this process."""

from collections.abc import Callable

import numpy as np

from zerogames.arena.players import Player, PlayerKind, Position
from zerogames.errors import UserError
from zerogames.game import Game


class LocalPlayer:
    """Random numbers of its own for each game, and a mark for `choose` to end."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._closed = False

    def new_game(self, position: Position, seed: int) -> None:
        """Start a new sequence of random numbers."""
        self._rng = np.random.default_rng(seed)

    def close(self) -> None:
        """End a running search."""
        self._closed = True


def kind_without_settings(name: str, make: Callable[[Game], Player]) -> PlayerKind:
    """A kind of player that is written as its name alone."""

    def title(argument: str) -> str:
        if argument:
            raise UserError(f"'{name}:{argument}': the {name} player has no settings; write {name}")
        return name

    return PlayerKind(title=title, make=lambda argument, game: make(game))
