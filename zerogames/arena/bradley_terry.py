"""Ratings of many players from their games, on Elo's scale."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerogames.arena.elo import ELO_SCALE, Z95, estimate_tally
from zerogames.arena.results import Outcome, Tally, Wdl, tally
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
    ratings = []
    total = Wdl()
    for one in tallies:
        if reference not in (one.a, one.b):
            continue
        seen = one if one.b == reference else one.swapped
        total += seen.wdl.swapped
        estimate = estimate_tally(seen)
        ratings.append(
            Rating(
                name=seen.a,
                elo=reference_elo + estimate.elo,
                error=estimate.elo_error,
                wdl=seen.wdl,
                opponents_elo=reference_elo,
            )
        )
    if not ratings:
        raise unknown_name("reference player", reference, _names(tallies))
    ratings.append(
        Rating(
            name=reference,
            elo=reference_elo,
            error=0.0,
            wdl=total,
            opponents_elo=math.nan,
            anchored=True,
        )
    )
    return sorted(ratings, key=lambda rating: -rating.elo)


def estimate_ratings(
    outcomes: Iterable[Outcome],
    *,
    anchors: Mapping[str, float] | None = None,
    prior_draws: float = PRIOR_DRAWS,
) -> list[Rating]:
    """Rate all players of `outcomes`, the strongest first.

    Args:
        outcomes: Finished games.
        anchors: Players whose rating is known; without any, the mean rating is 0.
        prior_draws: Weight of the prior.
    """
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
        wdl, opponents, games = Wdl(), 0.0, 0.0
        for one in tallies:
            if name in (one.a, one.b):
                seen = one if one.a == name else one.swapped
                wdl += seen.wdl
                games += seen.wdl.games
                opponents += seen.wdl.games * fit.elo[fit.names.index(seen.b)]
        ratings.append(
            Rating(
                name=name,
                elo=float(fit.elo[index]),
                error=Z95 * math.sqrt(max(0.0, float(fit.covariance[index, index]))),
                wdl=wdl,
                opponents_elo=float(opponents / games) if games else math.nan,
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

    The prior is `prior_draws` drawn games of every player against the first anchor, or, without
    anchors, against an imaginary player at the mean.
    """
    anchors = dict(anchors or {})
    names = _names(tallies)
    for name in anchors:
        if name not in names:
            raise unknown_name("player to anchor", name, names)
    free = [i for i, name in enumerate(names) if name not in anchors]
    reference = next(iter(anchors.values()), 0.0)
    strength = np.array([anchors.get(name, reference) for name in names]) / ELO_SCALE
    model = _Model(names, tallies, prior_draws, reference / ELO_SCALE, free)
    strength = model.maximise(strength)
    naive, sandwich = model.covariances(strength)
    if not anchors and names:
        # Ratings relative to the pool's mean, errors too.
        centre = np.eye(len(names)) - 1 / len(names)
        strength = centre @ strength
        naive, sandwich = centre @ naive @ centre.T, centre @ sandwich @ centre.T
    elo = strength * ELO_SCALE
    for name, known in anchors.items():
        elo[names.index(name)] = known  # exactly
    return RatingFit(
        names=names,
        elo=elo,
        covariance=sandwich * ELO_SCALE**2,
        naive_covariance=naive * ELO_SCALE**2,
    )


def _names(tallies: Sequence[Tally]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in tallies for name in (one.a, one.b)))


class _Model:
    """Log-likelihood, slope and curvature in natural units (log-odds)."""

    def __init__(
        self,
        names: tuple[str, ...],
        tallies: Sequence[Tally],
        prior_draws: float,
        reference: float,
        free: list[int],
    ) -> None:
        self.tallies = [one for one in tallies if one.wdl.games]
        self.a = np.array([names.index(one.a) for one in self.tallies], np.intp)
        self.b = np.array([names.index(one.b) for one in self.tallies], np.intp)
        self.games = np.array([one.wdl.games for one in self.tallies], np.float64)
        self.points = np.array([one.wdl.points for one in self.tallies], np.float64)
        self.prior, self.reference, self.free = prior_draws, reference, free
        self.size = len(names)

    def slope_and_curvature(
        self, strength: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        p = _sigmoid(strength[self.a] - strength[self.b])
        slope, curvature = np.zeros(self.size), np.zeros((self.size, self.size))
        surplus = self.points - self.games * p
        np.add.at(slope, self.a, surplus)
        np.add.at(slope, self.b, -surplus)
        _add_edges(curvature, self.a, self.b, self.games * p * (1 - p))
        for i in self.free:
            p0 = _sigmoid(strength[i] - self.reference)
            slope[i] += self.prior * (0.5 - p0)
            curvature[i, i] += self.prior * p0 * (1 - p0)
        return slope[self.free], curvature[np.ix_(self.free, self.free)]

    def maximise(self, strength: NDArray[np.float64]) -> NDArray[np.float64]:
        """Newton's method; the likelihood is concave, steps are kept short where it is flat."""
        strength = strength.copy()
        for _ in range(200):
            if not self.free:
                break
            slope, curvature = self.slope_and_curvature(strength)
            step = _solve(curvature, slope)
            step /= max(1.0, float(np.abs(step).max()))
            strength[self.free] += step
            if np.abs(step).max() < 1e-12:
                break
        return strength

    def covariances(
        self, strength: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Naive and sandwich; zero for anchors."""
        naive, sandwich = np.zeros((2, self.size, self.size))
        if not self.free:
            return naive, sandwich
        p = _sigmoid(strength[self.a] - strength[self.b])
        spread = np.array(
            [_squares(one, float(pi)) for one, pi in zip(self.tallies, p, strict=True)]
        )
        scatter = np.zeros((self.size, self.size))
        _add_edges(scatter, self.a, self.b, spread)
        for i in self.free:
            scatter[i, i] += self.prior * (0.5 - _sigmoid(strength[i] - self.reference)) ** 2
        inverse = _inverse(self.slope_and_curvature(strength)[1])
        block = np.ix_(self.free, self.free)
        naive[block] = inverse
        sandwich[block] = inverse @ scatter[block] @ inverse
        return naive, sandwich


def _squares(one: Tally, p: float) -> float:
    """Sum of squared score residuals; the games of a pair are one trial worth two."""
    single, pairs = one.single, one.pairs
    total = sum(
        count * (value - p) ** 2 for count, value in zip(single.counts, single.values, strict=True)
    )
    return total + sum(
        count * (2 * (value - p)) ** 2
        for count, value in zip(pairs.counts, pairs.values, strict=True)
    )


def _add_edges(
    matrix: NDArray[np.float64],
    a: NDArray[np.intp],
    b: NDArray[np.intp],
    weight: NDArray[np.float64],
) -> None:
    np.add.at(matrix, (a, a), weight)
    np.add.at(matrix, (b, b), weight)
    np.add.at(matrix, (a, b), -weight)
    np.add.at(matrix, (b, a), -weight)


def _sigmoid(x: NDArray[np.float64] | float) -> NDArray[np.float64]:
    return np.asarray(0.5 * (1 + np.tanh(np.asarray(x) / 2)))


def _solve(matrix: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    # A pool in pieces without a prior has flat directions: least squares stands still there.
    return np.asarray(np.linalg.lstsq(matrix, vector, rcond=1e-14)[0], np.float64)


def _inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.pinv(matrix, rcond=1e-14, hermitian=True), np.float64)
