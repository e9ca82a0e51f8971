"""Monte Carlo tree search without a net, for any game: random play below a tree of bounds (UCB1).

A baseline whose strength is known: uniform priors, exploration 1.4, no knowledge of the game.
"""

from zerogames.game import Game, State
from zerogames.search._search import Rollouts
from zerogames.search.adapter import bound_game


def new_rollouts(game: Game, state: State, *, seed: int = 0) -> Rollouts:
    """Begin a tree at `state`."""
    bound = bound_game(game, state)
    return bound.Rollouts(bound, seed=seed)
