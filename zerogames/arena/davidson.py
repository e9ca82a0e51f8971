"""Davidson's model: Bradley-Terry with a parameter for draws.

P(win) : P(draw) : P(loss) = g_a : nu sqrt(g_a g_b) : g_b, rating = 400 log10 g. With many draws its
differences are larger than those of score Elo, so reports say which of the two they print.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerogames.arena.elo import ELO_SCALE
from zerogames.arena.results import Tally
from zerogames.errors import unknown_name


@dataclass(frozen=True, kw_only=True)
class DavidsonFit:
    """Ratings on Davidson's scale."""

    names: tuple[str, ...]
    elo: NDArray[np.float64]
    """`[players]`, 0 for the anchor."""
    standard_error: NDArray[np.float64]
    """`[players]`, 0 for the anchor."""
    nu: float
    """Weight of draws: 0 without any."""


def fit_davidson(tallies: Sequence[Tally], anchor: str, *, prior: float = 0.0) -> DavidsonFit:
    """Fit ratings relative to `anchor` and nu.

    Args:
        tallies: Counted games.
        anchor: Its rating is 0.
        prior: Games, a third each won, drawn and lost, of every player against the anchor; above 0
            it keeps players that won or lost all games finite.
    """
    names = tuple(dict.fromkeys(name for one in tallies for name in (one.a, one.b)))
    if anchor not in names:
        raise unknown_name("player to anchor", anchor, names)
    rows = [
        (names.index(one.a), names.index(one.b), one.wdl.wins, one.wdl.draws, one.wdl.losses)
        for one in tallies
    ]
    base = names.index(anchor)
    rows += [(i, base, prior / 3, prior / 3, prior / 3) for i in range(len(names)) if i != base]
    free = [i for i in range(len(names)) if i != base]
    parameters, information = _maximise(rows, free, len(names))
    covariance = np.linalg.pinv(information, hermitian=True)
    elo, error = np.zeros(len(names)), np.zeros(len(names))
    elo[free] = parameters[:-1] * ELO_SCALE
    error[free] = np.sqrt(np.maximum(0, np.diag(covariance)[:-1])) * ELO_SCALE
    return DavidsonFit(names=names, elo=elo, standard_error=error, nu=math.exp(parameters[-1]))


_Row = tuple[int, int, float, float, float]


def _maximise(
    rows: Sequence[_Row], free: list[int], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Newton's method over the free log-strengths and ln nu; the log-likelihood is concave."""
    parameters = np.zeros(len(free) + 1)
    slope, information = _slope(rows, free, size, parameters)
    for _ in range(200):
        step = np.linalg.lstsq(information, slope, rcond=1e-14)[0]
        # Where all games were decisive ln nu runs to -inf: stop once nothing moves visibly.
        step /= max(1.0, float(np.abs(step).max()))
        parameters = np.clip(parameters + step, -30, 30)
        slope, information = _slope(rows, free, size, parameters)
        if np.abs(step).max() < 1e-12:
            break
    return parameters, information


def _slope(
    rows: Sequence[_Row], free: list[int], size: int, parameters: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slope of the log-likelihood and its expected information."""
    strength = np.zeros(size)
    strength[free] = parameters[:-1]
    slope, information = np.zeros(size + 1), np.zeros((size + 1, size + 1))
    for a, b, wins, draws, losses in rows:
        draw = parameters[-1] + (strength[a] + strength[b]) / 2
        logits = np.array([strength[a], draw, strength[b]])
        p = np.exp(logits - logits.max())
        p /= p.sum()
        counts = np.array([wins, draws, losses])
        # How the three logits depend on (strength a, strength b, ln nu).
        design = np.array([[1, 0, 0], [0.5, 0.5, 1], [0, 1, 0]])
        where = [a, b, size]
        slope[where] += design.T @ (counts - counts.sum() * p)
        scatter = counts.sum() * (np.diag(p) - np.outer(p, p))
        information[np.ix_(where, where)] += design.T @ scatter @ design
    keep = [*free, size]
    return slope[keep], information[np.ix_(keep, keep)]
