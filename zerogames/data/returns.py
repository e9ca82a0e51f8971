"""Q(lambda) value targets, cut at exploratory moves."""

import numpy as np
from numpy.typing import NDArray

from zerogames.data.record import SEARCH_KINDS, SearchColumns

_SEARCHED = (SEARCH_KINDS.index("full"), SEARCH_KINDS.index("fast"))

EXPLORATION_GAP = 0.1
"""A move is exploratory if its value is lower than the best one's by more than this."""


def lambda_returns(
    search: SearchColumns, sides: NDArray[np.int8], result: float, lambda_: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Values and draw shares in the view of each ply's player: Watkins's Q(lambda).

    Each is (1 - lambda) of the position's own search value and lambda of the next position's
    return, at the end the game's result. Proven values are kept. After an exploratory move the
    search's value stands alone, so that a deliberate mistake does not change the targets of the
    moves before it.

    `sides` `[plies]` are the players of the plies; `result` is the game's, the first player's view.
    A lambda of 0 gives the search's values, 1 the result unless an exploratory move follows.
    """
    best_q, best_d = search.values["best_q"].tolist(), search.values["best_d"].tolist()
    gap = search.values["best_q"] - search.values["played_q"]
    looks_ahead = (np.isin(search.kinds, _SEARCHED) & (gap <= EXPLORATION_GAP)).tolist()
    unknown = np.isnan(search.values["best_q"]).tolist()
    signs = (1 - 2 * sides).tolist()
    after_q, after_d, after_sign = result, 1 - abs(result), 1
    returns = np.empty((2, search.plies), np.float32)
    for ply in range(search.plies - 1, -1, -1):
        after_q, after_sign = after_q * signs[ply] * after_sign, signs[ply]
        if not unknown[ply]:
            share = lambda_ if looks_ahead[ply] else 0.0
            draw = 0.0 if best_d[ply] != best_d[ply] else best_d[ply]
            after_q = (1 - share) * best_q[ply] + share * after_q
            after_d = (1 - share) * draw + share * after_d
        returns[:, ply] = after_q, after_d
    return returns[0], returns[1]
