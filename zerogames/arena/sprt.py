"""The sequential probability ratio test: stop a match as soon as it has told enough.

The log-likelihood ratio compares the maximum-likelihood distributions of scores under
"Elo = elo0" and "Elo = elo1", in three scales of Elo.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from zerogames.arena.elo import NORMALISED_SCALE, score_of_elo
from zerogames.arena.results import Distribution, Wdl
from zerogames.errors import UserError, unknown_name

Scale = Literal["normalized", "logistic", "bayesian"]
SCALES: tuple[Scale, ...] = ("normalized", "logistic", "bayesian")
Verdict = Literal["H0", "H1"]

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
        values: dict[str, float] = {}
        scale: Scale = "normalized"
        for part in text.split(","):
            key, _, value = (piece.strip() for piece in part.partition("="))
            if key == "scale":
                if value not in SCALES:
                    raise unknown_name("SPRT scale", value, SCALES)
                scale = value
            elif key in ("elo0", "elo1", "alpha", "beta"):
                values[key] = _number(key, value)
            else:
                raise unknown_name("SPRT setting", key, ("elo0", "elo1", "alpha", "beta", "scale"))
        if not {"elo0", "elo1"} <= values.keys():
            raise UserError(f"SPRT '{text}' needs both elo0 and elo1, e.g. elo0=0,elo1=10")
        return cls(**values, scale=scale)

    @property
    def bounds(self) -> tuple[float, float]:
        """Accept H0 at or below the first, H1 at or above the second."""
        lower = math.log(self.beta / (1 - self.alpha))
        return lower, math.log((1 - self.beta) / self.alpha)

    def llr(self, results: Distribution) -> float:
        """Log-likelihood ratio; 0 without games."""
        if sum(results.counts) <= 0:
            return 0.0
        if self.scale == "bayesian":
            return _bayesian_llr(results, self.elo0, self.elo1)
        counts = [count or _TINY_COUNT for count in results.counts]
        if self.scale == "logistic":
            scores = score_of_elo(self.elo0), score_of_elo(self.elo1)
            return _llr(counts, results.values, *scores, _fit_to_score)
        factor = math.sqrt(results.games_per_trial) / NORMALISED_SCALE
        return _llr(counts, results.values, self.elo0 * factor, self.elo1 * factor, _fit_to_t_value)

    def verdict(self, results: Distribution) -> Verdict | None:
        """The hypothesis that is accepted, or None while the test continues."""
        lower, upper = self.bounds
        llr = self.llr(results)
        return "H1" if llr >= upper else "H0" if llr <= lower else None

    def __str__(self) -> str:
        return f"{self.scale} SPRT [{self.elo0:g}, {self.elo1:g}]"


_Fit = Callable[[Sequence[float], Sequence[float], float], list[float]]


def _llr(
    counts: Sequence[float], values: Sequence[float], target0: float, target1: float, fit: _Fit
) -> float:
    total = sum(counts)
    p = [count / total for count in counts]
    q0, q1 = fit(p, values, target0), fit(p, values, target1)
    return total * sum(pi * math.log(one / zero) for pi, zero, one in zip(p, q0, q1, strict=True))


def _fit_to_score(p: Sequence[float], values: Sequence[float], score: float) -> list[float]:
    """The likeliest distribution whose mean is `score`."""
    return _tilt(p, [value - score for value in values])


def _fit_to_t_value(p: Sequence[float], values: Sequence[float], t: float) -> list[float]:
    """The likeliest distribution with (mean - 1/2) / deviation = t, by fixed-point steps."""
    q = [1 / len(p)] * len(p)
    for _ in range(10):
        mean = sum(qi * v for qi, v in zip(q, values, strict=True))
        deviation = math.sqrt(sum(qi * (v - mean) ** 2 for qi, v in zip(q, values, strict=True)))
        constraint = [
            v - 0.5 - 0.5 * t * deviation * (1 + ((v - mean) / deviation) ** 2) for v in values
        ]
        if not min(constraint) < 0 < max(constraint):
            return q  # no distribution on these values comes nearer
        before, q = q, _tilt(p, constraint)
        if max(abs(a - b) for a, b in zip(before, q, strict=True)) < 1e-4:
            break
    return q


def _tilt(p: Sequence[float], constraint: Sequence[float]) -> list[float]:
    """Change p as little as possible, in likelihood, so that the mean of `constraint` is 0."""
    low, high = -1 / max(constraint), -1 / min(constraint)
    x = _root(p, constraint, low, high)
    return [pi / (1 + x * ci) for pi, ci in zip(p, constraint, strict=True)]


def _root(p: Sequence[float], constraint: Sequence[float], low: float, high: float) -> float:
    """Bisection: the sum falls from +inf at `low` to -inf at `high`."""
    for _ in range(200):
        x = (low + high) / 2
        if x in (low, high):
            break
        if sum(pi * ci / (1 + x * ci) for pi, ci in zip(p, constraint, strict=True)) > 0:
            low = x
        else:
            high = x
    return (low + high) / 2


def _bayesian_llr(results: Distribution, elo0: float, elo1: float) -> float:
    if not isinstance(results, Wdl):
        raise UserError("the bayesian SPRT counts games, not pairs: use scale=normalized")
    counts = [count or _TINY_COUNT for count in results.counts]
    total = sum(counts)
    loss, win = counts[0] / total, counts[2] / total
    draw_elo = 200 * math.log10((1 - loss) / loss * (1 - win) / win)

    def score(elo: float) -> float:
        wins, losses = score_of_elo(elo - draw_elo), score_of_elo(-elo - draw_elo)
        return (1 + wins - losses) / 2

    return _llr(counts, results.values, score(elo0), score(elo1), _fit_to_score)


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"SPRT {key}='{text}' is not a number") from None
