"""Variety for deterministic players: the second-best rule of the Mobile Networks paper."""

from collections.abc import Sequence


def choose_by_evaluations(
    evaluations: Sequence[float], uniform: float, *, share: float = 0.8
) -> int:
    """Index of the move to play, by the visits of each and a random number in [0, 1).

    The most evaluated move, unless the second has more than `share` of its evaluations: then that
    one with the probability n2 / (n1 + n2). Without it two deterministic players would play one
    game again and again.
    """
    best, *others = sorted(range(len(evaluations)), key=lambda index: -evaluations[index])[:2]
    for other in others:
        first, second = evaluations[best], evaluations[other]
        if second > share * first and uniform < second / (first + second):
            return other
    return best
