"""Positions to try nets on."""

import numpy as np
from numpy.typing import NDArray

from zerogames.game import Game


def random_positions(
    game: Game, encoding: str, count: int, *, seed: int = 0, max_plies: int = 60
) -> NDArray[np.float32]:
    """Planes `[count, P, H, W]` of positions from random games, from the start to `max_plies`.

    The first is the initial position; the others come from games of their own.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        state = game.initial_state()
        for _ in range(rng.integers(1, max_plies) if number else 0):
            following = state.play(int(rng.choice(state.legal_actions())))
            if following.result is not None:
                break
            state = following
        rows.append(state.observe(encoding))
    return np.stack(rows)
