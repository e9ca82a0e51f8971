"""Monte Carlo tree search without a net, for any game: random play below a tree of bounds (UCB1).

A baseline whose strength is known: uniform priors, exploration 1.4, no knowledge of the game.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Game, State
from zerogames.search.adapter import bound_game


class Rollouts(Protocol):
    """One position and its tree; L is its number of legal moves. Deterministic for a seed."""

    def run(self, count: int) -> None:
        """Add rollouts; none where the game is over. The GIL is released for native games."""

    @property
    def actions(self) -> NDArray[np.int32]:
        """`[L]`, ascending."""

    @property
    def visits(self) -> NDArray[np.int32]:
        """`[L]`."""

    @property
    def values(self) -> NDArray[np.float64]:
        """`[L]` means in the view of the player to move; 0 for an unvisited move."""

    @property
    def total(self) -> int:
        """Rollouts so far."""


def new_rollouts(game: Game, state: State, *, seed: int = 0) -> Rollouts:
    """Begin a tree at `state`."""
    bound = bound_game(game, state)
    return bound.Rollouts(bound, seed=seed)
