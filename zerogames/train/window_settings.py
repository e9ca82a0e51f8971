"""How large the window over self-play is, and how positions are drawn from it."""

from dataclasses import dataclass
from typing import Literal

from zerogames.errors import UserError


@dataclass(frozen=True, kw_only=True)
class WindowSettings:
    """The newest positions of a run; their number grows more slowly than the run."""

    batch_size: int = 256
    """Positions in a batch."""
    min_positions: int = 20_000
    """Size of the window at first; below it training should wait."""
    scale: int = 0
    """Positions over which growth bends; 0 takes `min_positions`."""
    exponent: float = 0.65
    """Of the growth: 1 keeps a fixed share of everything, 0 grows with the logarithm."""
    growth: float = 0.4
    """Positions the window gains for each new one at first."""
    max_positions: int = 0
    """Upper limit; 0 for none."""
    max_megabytes: int = 4096
    """Memory that packed positions may take: about 0.1 kB each in Connect Four, 1.3 kB in chess.
    A window that would need more is cut shorter."""
    sampling: Literal["uniform", "surprise"] = "uniform"
    """Every position alike, or more often those whose search found what the net had not."""
    surprise_share: float = 0.5
    """Share of the weight that surprise distributes."""
    value_lambda: float = 0.0
    """How far the search's value of a position looks ahead along the game (Watkins's Q(lambda)):
    0 takes the search's own, 1 the game's result unless a later move was played to explore."""
    symmetries: bool = True
    """Transform each position by a random symmetry of the board."""
    average_duplicates: bool = False
    """Give positions that occur several times in the window the mean of their targets; for games
    with few actions, such as Connect Four."""
    duplicate_weight: Literal["linear", "log", "constant"] = "linear"
    """How often a position that occurs n times is drawn: as n, 1 + log2 n, or 1."""
    workers: int = 1
    """Threads that make batches; the batches do not depend on it."""
    prefetch: int = 3
    """Batches made ahead."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        least = {
            "batch_size": 1,
            "min_positions": 1,
            "scale": 0,
            "max_positions": 0,
            "max_megabytes": 1,
            "workers": 1,
            "prefetch": 1,
        }
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise UserError(f"{name} must be {bound} or more, not {getattr(self, name)}")
        for name in ("exponent", "growth", "surprise_share", "value_lambda"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if self.duplicate_weight != "linear" and not self.average_duplicates:
            raise UserError("duplicate_weight has a meaning with average_duplicates only")


def window_size(settings: WindowSettings, total_positions: int) -> int:
    """Positions in the window after `total_positions` were played: KataGo's rule.

    minR + per ((N - minR + sc)^e - sc^e) / (e sc^(e - 1)), at first everything.
    """
    least, exponent = settings.min_positions, settings.exponent
    if total_positions <= least:
        return total_positions
    scale = settings.scale or least
    grown = total_positions - least
    if exponent == 0:  # the limit of the formula
        from math import log1p

        gain = scale * log1p(grown / scale)
    else:
        gain = scale * (((grown + scale) / scale) ** exponent - 1) / exponent
    size = min(total_positions, int(least + settings.growth * gain))
    return min(size, settings.max_positions) if settings.max_positions else size
