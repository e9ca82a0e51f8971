"""Variety for deterministic players: the second-best rule of the Mobile Networks paper."""

from collections.abc import Sequence


def choose_by_evaluations(
    evaluations: Sequence[float], uniform: float, *, share: float = 0.8
) -> int:
    """Index of the move to play.

    The most evaluated move, unless the second has more than `share` of its evaluations: then that
    one with the probability n2 / (n1 + n2). Without it two deterministic players would play one
    game again and again.

    Args:
        evaluations: Visits of each move.
        uniform: A random number in [0, 1).
        share: What the second move needs of the first one's evaluations.
    """
    order = sorted(range(len(evaluations)), key=lambda index: -evaluations[index])
    best = order[0]
    if len(order) == 1:
        return best
    first, second = evaluations[best], evaluations[order[1]]
    if second > share * first and uniform < second / (first + second):
        return order[1]
    return best
