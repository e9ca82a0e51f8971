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
from zerogames.arena.likelihood import Vector, maximise
from zerogames.arena.results import Tally, player_names
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
    """Fit nu, and ratings relative to the player `anchor`.

    `prior` are games, a third each won, drawn and lost, of every player against the anchor; above 0
    it keeps players that won or lost all games finite.
    """
    names = player_names(tallies)
    if anchor not in names:
        raise unknown_name("player to anchor", anchor, names)
    base = names.index(anchor)
    free = [i for i in range(len(names)) if i != base]
    pairs = [(names.index(one.a), names.index(one.b)) for one in tallies]
    pairs += [(i, base) for i in free]
    results = [(one.wdl.wins, one.wdl.draws, one.wdl.losses) for one in tallies]
    counts = np.array([*results, *[(prior / 3,) * 3 for _ in free]])  # [rows, 3]
    games = counts.sum(axis=1, keepdims=True)
    unit = np.eye(len(names) + 1)
    # How the logits of win, draw and loss depend on the free log-strengths and ln nu.
    rows = [(unit[a], (unit[a] + unit[b]) / 2 + unit[-1], unit[b]) for a, b in pairs]
    design = np.array(rows)[:, :, [*free, len(names)]]  # [rows, 3, K]

    def slope_and_information(parameters: Vector) -> tuple[Vector, Vector]:
        """The information is the expected one."""
        logits = design @ parameters
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("rok,ro->rk", design, p)
        squares = np.einsum("rok,ro,rol->kl", design, games * p, design)
        slope = np.einsum("rok,ro->k", design, counts - games * p)
        return slope, squares - (mean * games).T @ mean

    # Where all games were decisive ln nu runs to -inf: stop once nothing moves visibly.
    parameters = maximise(slope_and_information, np.zeros(len(free) + 1), limit=30)
    covariance = np.linalg.pinv(slope_and_information(parameters)[1], hermitian=True)
    elo, error = np.zeros((2, len(names)))
    elo[free] = parameters[:-1] * ELO_SCALE
    error[free] = np.sqrt(np.maximum(0, np.diag(covariance)[:-1])) * ELO_SCALE
    return DavidsonFit(names=names, elo=elo, standard_error=error, nu=math.exp(parameters[-1]))
