"""Strengths that people choose from: how much an opponent searches, and how freely it plays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Level:
    """One strength of an opponent."""

    name: str
    nodes: int
    """Nodes of the search for each move; with 1 the net's first impression decides."""
    temperature: float = 0.0
    """The choice among the moves: 0 takes the best one, 1 each by its share of the search."""

    @property
    def about(self) -> str:
        """One line for people who choose."""
        work = "no search" if self.nodes == 1 else f"{self.nodes} nodes a move"
        freedom = "often takes another than the best" if self.temperature >= 1 else "varies"
        return f"{work}, {freedom}" if self.temperature else work


LEVELS = (
    Level(name="beginner", nodes=1, temperature=1.5),
    Level(name="novice", nodes=1, temperature=1.0),
    Level(name="casual", nodes=1, temperature=0.4),
    Level(name="first impression", nodes=1),
    Level(name="club", nodes=30, temperature=0.2),
    Level(name="strong club", nodes=60),
    Level(name="expert", nodes=250),
    Level(name="master", nodes=500),
    Level(name="grandmaster", nodes=1000),
    Level(name="full", nodes=2000),
)
"""From the weakest, level 1, to the strongest."""


def pick(weights: Sequence[float], temperature: float, rng: np.random.Generator) -> int:
    """Pick an index with chance proportional to `weight^(1 / temperature)`; 0 takes the largest."""
    shares = np.asarray(weights, np.float64)
    if temperature == 0 or shares.max() <= 0:
        return int(np.argmax(shares))
    chances = (shares / shares.max()) ** (1 / temperature)
    return int(rng.choice(len(chances), p=chances / chances.sum()))
