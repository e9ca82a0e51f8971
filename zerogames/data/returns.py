"""Search values that look ahead along a game, as far as it was played in earnest."""

import numpy as np
from numpy.typing import NDArray

from zerogames.data.record import SEARCH_KINDS, SearchColumns

_SEARCHED = (SEARCH_KINDS.index("full"), SEARCH_KINDS.index("fast"))

EARNEST = 0.1
"""A move counts as the best one if the search gave it at most so much less."""


def lambda_returns(
    search: SearchColumns, last_result: float, lambda_: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Values and draw shares in the view of each ply's player: Watkins's Q(lambda).

    Each is (1 - lambda) of what the search found and lambda of the next position's return, the
    game's result at the end. A proof stands as it is. After a move that exploration chose against
    the search, what followed says nothing about the position before it: the search's value stands
    alone there, and a deliberate blunder is not blamed on the moves that led to it.

    Args:
        search: What was found at each ply.
        last_result: Of the game, in the view of the player of the last ply.
        lambda_: 0 gives the search's values, 1 the results of games in earnest.
    """
    best_q, best_d = search.values["best_q"].tolist(), search.values["best_d"].tolist()
    gap = search.values["best_q"] - search.values["played_q"]
    looks_ahead = (np.isin(search.kinds, _SEARCHED) & (gap <= EARNEST)).tolist()
    unknown = np.isnan(search.values["best_q"]).tolist()
    after_q, after_d = last_result, 1 - abs(last_result)
    returns = np.empty((2, search.plies), np.float32)
    for ply in range(search.plies - 1, -1, -1):
        if not unknown[ply]:
            share = lambda_ if looks_ahead[ply] else 0.0
            draw = 0.0 if best_d[ply] != best_d[ply] else best_d[ply]
            after_q = (1 - share) * best_q[ply] + share * after_q
            after_d = (1 - share) * draw + share * after_d
        returns[:, ply] = after_q, after_d
        after_q = -after_q
    return returns[0], returns[1]
