"""A player that plays any legal move."""

import numpy as np

from zerogames.arena.players import Choice, MoveLimits, PlayerKind, Position
from zerogames.errors import UserError
from zerogames.game import Game


class RandomPlayer:
    """Every legal move with the same probability."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def new_game(self, position: Position, seed: int) -> None:
        """Start a new sequence of random numbers."""
        self._rng = np.random.default_rng(seed)

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Choose blindly."""
        return Choice(action=int(self._rng.choice(position.state.legal_actions())))

    def close(self) -> None:
        """Nothing is held."""


def _title(argument: str) -> str:
    if argument:
        raise UserError(f"'random:{argument}': the random player has no settings; write random")
    return "random"


def _make(argument: str, game: Game) -> RandomPlayer:
    return RandomPlayer()


kind = PlayerKind(title=_title, make=_make)
