"""Two players: Elo, normalised Elo and the likelihood of superiority, with 95 % intervals."""

import math
from dataclasses import dataclass

from zerogames.arena.results import Distribution, Tally

Z95 = 1.959963984540054
"""Half the width of a 95 % interval in standard errors."""
ELO_SCALE = 400 / math.log(10)
"""Elo per unit of log-odds."""
NORMALISED_SCALE = 800 / math.log(10)


def elo_of_score(score: float) -> float:
    """Elo difference that makes `score` the expectation; infinite at 0 and 1."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return -400 * math.log10(1 / score - 1)


def score_of_elo(elo: float) -> float:
    """Expected score at an Elo difference."""
    # The two forms avoid overflow on either side.
    if elo >= 0:
        return 1 / (1 + 10 ** (-elo / 400))
    power: float = 10 ** (elo / 400)
    return power / (1 + power)


@dataclass(frozen=True, kw_only=True)
class EloEstimate:
    """What the games between two players say, seen by one of them.

    Numbers that the games cannot tell are infinite or nan: nothing here raises. The defaults are
    for no games.
    """

    trials: float = 0
    """Games, or pairs."""
    score: float = 0.5
    variance: float = math.nan
    """Variance of one trial's score."""
    elo: float = math.nan
    elo_error: float = math.inf
    """Half the width of the 95 % interval; infinite when it leaves the scale."""
    normalised: float = math.nan
    """Elo in units of the standard deviation of a game, times 800 / ln 10."""
    normalised_error: float = math.inf
    los: float = 0.5
    """Likelihood of superiority: the chance that the player is the stronger one."""
    paired: bool


def estimate_elo(results: Distribution) -> EloEstimate:
    """Estimate from games (`Wdl`) or from pairs (`Pentanomial`)."""
    trials = sum(results.counts)
    paired = results.games_per_trial == 2
    if trials <= 0:
        return EloEstimate(paired=paired)
    counted = list(zip(results.counts, results.values, strict=True))
    score = sum(count * value for count, value in counted) / trials
    variance = sum(count * (value - score) ** 2 for count, value in counted) / trials
    error = math.sqrt(variance / trials)
    # One game is as variable as sqrt(games per trial) times their mean.
    deviation = math.sqrt(results.games_per_trial * variance)
    return EloEstimate(
        trials=trials,
        score=score,
        variance=variance,
        elo=elo_of_score(score),
        elo_error=_elo_error(score, error),
        normalised=_ratio(score - 0.5, deviation) * NORMALISED_SCALE,
        normalised_error=_ratio(Z95 * error, deviation) * NORMALISED_SCALE
        if deviation > 0
        else math.inf,
        los=superiority(score - 0.5, error),
        paired=paired,
    )


def estimate_tally(tally: Tally) -> EloEstimate:
    """Estimate from pairs where the games were paired, else from games."""
    return estimate_elo(tally.distribution)


@dataclass(frozen=True)
class WinRate:
    """A win rate with its standard error, as the tables of the Go papers print them."""

    rate: float
    sigma: float

    def __str__(self) -> str:
        return f"{100 * self.rate:.2f} % ({100 * self.sigma:.2f} %)"


def win_rate(tally: Tally) -> WinRate:
    """Points per game and sqrt(rate (1 - rate) / games), draws counted as half a win."""
    games, rate = tally.wdl.games, tally.wdl.score
    return WinRate(rate, math.sqrt(rate * (1 - rate) / games) if games else math.nan)


def superiority(difference: float, standard_error: float) -> float:
    """Chance that a normal estimate's true value is above 0."""
    if standard_error <= 0 or not math.isfinite(standard_error):
        return 0.5 if difference == 0 or standard_error > 0 else float(difference > 0)
    return (1 + math.erf(difference / (math.sqrt(2) * standard_error))) / 2


def _elo_error(score: float, error: float) -> float:
    low, high = score - Z95 * error, score + Z95 * error
    if error <= 0 or low <= 0 or high >= 1:
        return math.inf
    return (elo_of_score(high) - elo_of_score(low)) / 2


def _ratio(a: float, b: float) -> float:
    if b > 0:
        return a / b
    return math.nan if a == 0 else math.copysign(math.inf, a)
