"""Ratings of many players from their games, on Elo's scale."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerogames.arena.elo import ELO_SCALE, Z95, estimate_tally
from zerogames.arena.likelihood import Vector, maximise
from zerogames.arena.results import Outcome, Tally, Wdl, player_names, tally
from zerogames.errors import unknown_name

PRIOR_DRAWS = 0.5
"""Half a draw of every player against the anchor keeps ratings of 0 % and 100 % scores finite."""


@dataclass(frozen=True, kw_only=True)
class Rating:
    """One player's strength."""

    name: str
    elo: float
    error: float
    """Half the width of the 95 % interval; 0 for an anchor."""
    wdl: Wdl
    opponents_elo: float
    """Mean of the opponents' ratings over the games; nan without games."""
    anchored: bool = False


@dataclass(frozen=True, kw_only=True)
class RatingFit:
    """Ratings with what is needed to compare two of them."""

    names: tuple[str, ...]
    elo: NDArray[np.float64]
    """`[players]`."""
    covariance: NDArray[np.float64]
    """`[players, players]` by the sandwich estimator, right also when draws are many."""
    naive_covariance: NDArray[np.float64]
    """`[players, players]`, the inverse of the curvature: too wide with draws."""

    def difference(self, a: str, b: str) -> tuple[float, float]:
        """Elo of `a` minus Elo of `b`, and its standard error."""
        i, j = self.names.index(a), self.names.index(b)
        cov = self.covariance
        variance = cov[i, i] + cov[j, j] - 2 * cov[i, j]
        return float(self.elo[i] - self.elo[j]), math.sqrt(max(0.0, float(variance)))


def direct_ratings(
    tallies: Sequence[Tally], reference: str, reference_elo: float = 0.0
) -> list[Rating]:
    """Rate every player by its games against `reference` alone, the strongest first.

    Errors are relative to the reference; players that did not meet it are left out.
    """
    met = [one.swapped for one in _seen_by(reference, tallies)]
    if not met:
        raise unknown_name("reference player", reference, player_names(tallies))
    fixed = Rating(
        name=reference,
        elo=reference_elo,
        error=0.0,
        wdl=sum((one.wdl.swapped for one in met), Wdl()),
        opponents_elo=math.nan,
        anchored=True,
    )
    ratings = [
        Rating(
            name=one.a,
            elo=reference_elo + estimate.elo,
            error=estimate.elo_error,
            wdl=one.wdl,
            opponents_elo=reference_elo,
        )
        for one, estimate in zip(met, map(estimate_tally, met), strict=True)
    ]
    return sorted([*ratings, fixed], key=lambda rating: -rating.elo)


def _seen_by(name: str, tallies: Sequence[Tally]) -> list[Tally]:
    """The pairings of a player, seen by it."""
    return [one if one.a == name else one.swapped for one in tallies if name in (one.a, one.b)]


def estimate_ratings(
    outcomes: Iterable[Outcome],
    *,
    anchors: Mapping[str, float] | None = None,
    prior_draws: float = PRIOR_DRAWS,
) -> list[Rating]:
    """Rate all players of finished games, the strongest first; see `fit_bradley_terry`."""
    return rate_tallies(tally(outcomes), anchors=anchors, prior_draws=prior_draws)


def rate_tallies(
    tallies: Sequence[Tally],
    *,
    anchors: Mapping[str, float] | None = None,
    prior_draws: float = PRIOR_DRAWS,
) -> list[Rating]:
    """`estimate_ratings` for games that are already counted."""
    fit = fit_bradley_terry(tallies, anchors=anchors, prior_draws=prior_draws)
    ratings = []
    for index, name in enumerate(fit.names):
        met = _seen_by(name, tallies)
        wdl = sum((one.wdl for one in met), Wdl())
        opponents = sum(one.wdl.games * fit.elo[fit.names.index(one.b)] for one in met)
        ratings.append(
            Rating(
                name=name,
                elo=float(fit.elo[index]),
                error=Z95 * math.sqrt(max(0.0, float(fit.covariance[index, index]))),
                wdl=wdl,
                opponents_elo=float(opponents / wdl.games) if wdl.games else math.nan,
                anchored=name in (anchors or {}),
            )
        )
    return sorted(ratings, key=lambda rating: -rating.elo)


def fit_bradley_terry(
    tallies: Sequence[Tally],
    *,
    anchors: Mapping[str, float] | None = None,
    prior_draws: float = PRIOR_DRAWS,
) -> RatingFit:
    """Maximise the likelihood of the scores, a draw being half a win for each.

    The `anchors` are players whose rating is known; without any, the mean rating is 0. The prior is
    `prior_draws` drawn games of every player against the first anchor, or, without anchors, against
    an imaginary player at the mean.
    """
    anchors = dict(anchors or {})
    names = player_names(tallies)
    for name in anchors:
        if name not in names:
            raise unknown_name("player to anchor", name, names)
    free = [i for i, name in enumerate(names) if name not in anchors]
    reference = next(iter(anchors.values()), 0.0) / ELO_SCALE
    known = np.array([anchors.get(name, 0.0) for name in names]) / ELO_SCALE
    # A logistic regression of points on strengths in log-odds: a row for each pairing, and one for
    # each player's games of the prior.
    played = [one for one in tallies if one.wdl.games]
    unit = np.eye(len(names))
    rows = [unit[names.index(one.a)] - unit[names.index(one.b)] for one in played]
    design = np.array([*rows, *unit[free]]).reshape(len(played) + len(free), len(names))
    prior = np.full(len(free), prior_draws)
    games = np.concatenate([[one.wdl.games for one in played], prior])
    points = np.concatenate([[one.wdl.points for one in played], prior / 2])
    fixed = design @ known - np.repeat([0.0, reference], [len(played), len(free)])
    design = design[:, free]  # [rows, free players]

    def expect(strength: Vector) -> Vector:
        return np.asarray(0.5 * (1 + np.tanh((fixed + design @ strength) / 2)))

    def slope_and_information(strength: Vector) -> tuple[Vector, Vector]:
        p = expect(strength)
        return (points - games * p) @ design, (design.T * (games * p * (1 - p))) @ design

    strength = maximise(slope_and_information, np.full(len(free), reference))
    p = expect(strength)
    squares = prior * (0.5 - p[len(played) :]) ** 2
    spread = np.concatenate([list(map(_squares, played, p)), squares])
    inverse = np.linalg.pinv(slope_and_information(strength)[1], rcond=1e-14, hermitian=True)
    block = np.ix_(free, free)
    naive, sandwich = np.zeros((2, len(names), len(names)))
    naive[block] = inverse
    sandwich[block] = inverse @ ((design.T * spread) @ design) @ inverse
    known[free] = strength
    if not anchors and names:
        # Ratings relative to the pool's mean, errors too.
        centre = np.eye(len(names)) - 1 / len(names)
        known = centre @ known
        naive, sandwich = centre @ naive @ centre.T, centre @ sandwich @ centre.T
    elo = known * ELO_SCALE
    for name, anchor in anchors.items():
        elo[names.index(name)] = anchor  # exactly
    return RatingFit(
        names=names,
        elo=elo,
        covariance=sandwich * ELO_SCALE**2,
        naive_covariance=naive * ELO_SCALE**2,
    )


def _squares(one: Tally, p: float) -> float:
    """Sum of squared score residuals; the games of a pair are one trial worth two."""
    return sum(
        count * (part.games_per_trial * (value - p)) ** 2
        for part in (one.single, one.pairs)
        for count, value in zip(part.counts, part.values, strict=True)
    )
