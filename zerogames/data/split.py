"""Which games train, which validate, and which of their positions are taken.

A game's part depends on nothing but its own contents: adding, renaming or moving files never
carries a game from one part to the other, and a duplicate always lies beside its twin.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zerogames.errors import UserError

Part = Literal["train", "validation", "all"]
_MASK = (1 << 64) - 1


def mix(value: int) -> int:
    """SplitMix64's finaliser, as in `zerogames/hash.hpp`."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def is_validation(key: int, share: float) -> bool:
    """Whether the game with this key belongs to the validation part.

    The rule is fixed for good: `mix(key) / 2**64 < share`.
    """
    return mix(key) < share * 2.0**64


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The choice of positions that become samples."""

    part: Part = "all"
    validation_share: float = 0.2
    """Share of games kept for validation."""
    keep: float = 1.0
    """Probability with which a position is kept; the reference trainer of Lc0 keeps 1/32."""
    per_game: int = 0
    """The largest number of positions of a game, drawn at random; 0 for no limit."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.validation_share <= 1:
            raise UserError(f"validation share {self.validation_share} is not between 0 and 1")
        if not 0 < self.keep <= 1:
            raise UserError(f"keep {self.keep} is not a probability above 0")
        if self.per_game < 0:
            raise UserError(f"{self.per_game} positions a game is not a number")

    def wants(self, key: int) -> bool:
        """Whether the game belongs to the chosen part."""
        if self.part == "all":
            return True
        return is_validation(key, self.validation_share) == (self.part == "validation")

    def choose(
        self, key: int, num_positions: int, epoch: int = 0, copy: int = 0
    ) -> NDArray[np.int32]:
        """The positions to take of a wanted game, ascending; the same for the same seed.

        Each copy of a game gives others.
        """
        everything = np.arange(num_positions, dtype=np.int32)
        if self.keep >= 1 and not 0 < self.per_game < num_positions:
            return everything
        # The first copy draws as it did before there were others.
        entropy = [self.seed, epoch, key, copy] if copy else [self.seed, epoch, key]
        rng = np.random.Generator(np.random.PCG64(entropy))
        if self.keep < 1:
            everything = everything[rng.random(num_positions) < self.keep]
        if 0 < self.per_game < len(everything):
            everything = np.sort(rng.choice(everything, self.per_game, replace=False))
        return everything
