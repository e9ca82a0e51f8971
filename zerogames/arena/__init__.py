"""Matches between players, and ratings from their games."""

from zerogames.arena.bradley_terry import Rating, estimate_ratings, fit_bradley_terry
from zerogames.arena.davidson import fit_davidson
from zerogames.arena.elo import (
    EloEstimate,
    elo_of_score,
    estimate_elo,
    estimate_tally,
    score_of_elo,
    win_rate,
)
from zerogames.arena.results import Outcome, Pentanomial, Tally, Wdl, tally
from zerogames.arena.sprt import Sprt

__all__ = [
    "EloEstimate",
    "Outcome",
    "Pentanomial",
    "Rating",
    "Sprt",
    "Tally",
    "Wdl",
    "elo_of_score",
    "estimate_elo",
    "estimate_ratings",
    "estimate_tally",
    "fit_bradley_terry",
    "fit_davidson",
    "score_of_elo",
    "tally",
    "win_rate",
]
