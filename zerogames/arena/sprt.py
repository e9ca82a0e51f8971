"""The sequential probability ratio test: stop a match as soon as it has told enough.

The log-likelihood ratio compares the maximum-likelihood distributions of scores under
"Elo = elo0" and "Elo = elo1", in three scales of Elo.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zerogames.arena.elo import NORMALISED_SCALE, score_of_elo
from zerogames.arena.results import Distribution, Wdl
from zerogames.errors import UserError, unknown_name

Scale = Literal["normalized", "logistic", "bayesian"]
SCALES: tuple[Scale, ...] = ("normalized", "logistic", "bayesian")
Verdict = Literal["H0", "H1"]
Vector = NDArray[np.float64]
"""A number for each possible score of a trial."""

_TINY_COUNT = 0.001
"""Stands for a count of 0, whose logarithm would not exist."""


@dataclass(frozen=True, kw_only=True)
class Sprt:
    """A test of `elo0` (H0) against `elo1` (H1)."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    """Chance to accept H1 when H0 holds."""
    beta: float = 0.05
    """Chance to accept H0 when H1 holds."""
    scale: Scale = "normalized"

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise UserError(f"SPRT: elo0 {self.elo0:g} must be below elo1 {self.elo1:g}")
        if not (0 < self.alpha < 1 and 0 < self.beta < 1 and self.alpha + self.beta < 1):
            raise UserError("SPRT: alpha and beta must be above 0 and add up to less than 1")
        if self.scale not in SCALES:
            raise unknown_name("SPRT scale", self.scale, SCALES)

    @classmethod
    def parse(cls, text: str) -> "Sprt":
        """Read `elo0=0,elo1=10[,alpha=0.05,beta=0.05,scale=normalized]`."""
        values: dict[str, Any] = {}
        for part in text.split(","):
            key, _, value = (piece.strip() for piece in part.partition("="))
            known = [field.name for field in fields(cls)]
            if key not in known:
                raise unknown_name("SPRT setting", key, known)
            values[key] = value if key == "scale" else _number(key, value)
        if not {"elo0", "elo1"} <= values.keys():
            raise UserError(f"SPRT '{text}' needs both elo0 and elo1, e.g. elo0=0,elo1=10")
        return cls(**values)

    @property
    def bounds(self) -> tuple[float, float]:
        """Accept H0 at or below the first, H1 at or above the second."""
        lower = math.log(self.beta / (1 - self.alpha))
        return lower, math.log((1 - self.beta) / self.alpha)

    def llr(self, results: Distribution) -> float:
        """Log-likelihood ratio; 0 without games."""
        if sum(results.counts) <= 0:
            return 0.0
        counts = np.array([count or _TINY_COUNT for count in results.counts])
        p, values = counts / counts.sum(), np.array(results.values)
        if self.scale == "normalized":
            factor = math.sqrt(results.games_per_trial) / NORMALISED_SCALE
            q0, q1 = (_fit_to_t_value(p, values, elo * factor) for elo in (self.elo0, self.elo1))
        else:
            expect = score_of_elo if self.scale == "logistic" else _bayesian_score(results, p)
            # The likeliest distributions with these means.
            q0, q1 = (_tilt(p, values - expect(elo)) for elo in (self.elo0, self.elo1))
        return float(counts @ np.log(q1 / q0))

    def verdict(self, results: Distribution) -> Verdict | None:
        """The hypothesis that is accepted, or None while the test continues."""
        lower, upper = self.bounds
        llr = self.llr(results)
        return "H1" if llr >= upper else "H0" if llr <= lower else None

    def __str__(self) -> str:
        return f"{self.scale} SPRT [{self.elo0:g}, {self.elo1:g}]"


def _bayesian_score(results: Distribution, p: Vector) -> Callable[[float], float]:
    """The score that BayesElo expects at an Elo, with as many draws as in the games."""
    if not isinstance(results, Wdl):
        raise UserError("the bayesian SPRT counts games, not pairs: use scale=normalized")
    loss, _, win = p.tolist()
    draw_elo = 200 * math.log10((1 - loss) / loss * (1 - win) / win)
    return lambda elo: (1 + score_of_elo(elo - draw_elo) - score_of_elo(-elo - draw_elo)) / 2


def _fit_to_t_value(p: Vector, values: Vector, t: float) -> Vector:
    """The likeliest distribution with (mean - 1/2) / deviation = t, by fixed-point steps."""
    q = np.full(len(p), 1 / len(p))
    for _ in range(10):
        mean = q @ values
        deviation = np.sqrt(q @ (values - mean) ** 2)
        constraint = values - 0.5 - 0.5 * t * deviation * (1 + ((values - mean) / deviation) ** 2)
        if not constraint.min() < 0 < constraint.max():
            return q  # no distribution on these values comes nearer
        before, q = q, _tilt(p, constraint)
        if np.abs(q - before).max() < 1e-4:
            break
    return q


def _tilt(p: Vector, constraint: Vector) -> Vector:
    """Change p as little as possible, in likelihood, so that the mean of `constraint` is 0."""
    low, high = -1 / constraint.max(), -1 / constraint.min()
    for _ in range(200):  # Bisection: the sum falls from +inf at `low` to -inf at `high`.
        x = (low + high) / 2
        if x in (low, high):
            break
        if (p * constraint / (1 + x * constraint)).sum() > 0:
            low = x
        else:
            high = x
    return np.asarray(p / (1 + x * constraint))


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"SPRT {key}='{text}' is not a number") from None
