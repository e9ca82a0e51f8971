"""The settings of the replay window: its size, and how positions are drawn from it."""

import math
from dataclasses import dataclass, fields
from typing import Literal

from zerogames.errors import UserError


@dataclass(frozen=True, kw_only=True)
class WindowSettings:
    """The replay window: the newest positions of a run; it grows more slowly than the run."""

    batch_size: int = 256
    """The number of positions in a batch."""
    min_positions: int = 20_000
    """The number of positions of the window at first; below it training waits."""
    scale: int = 0
    """The number of positions over which the growth slows down; 0 takes `min_positions`."""
    exponent: float = 0.65
    """The exponent of the growth: 1 keeps a fixed share of all positions, 0 grows with the
    logarithm."""
    growth: float = 0.4
    """The number of positions that the window gains for each new one at first."""
    max_positions: int = 0
    """The largest number of positions of the window; 0 for no limit."""
    max_megabytes: int = 4096
    """The memory of packed positions in megabytes: about 0.1 kB each in Connect Four, 1.3 kB in
    chess. A window that would need more holds fewer positions."""
    sampling: Literal["uniform", "surprise"] = "uniform"
    """How positions are drawn: all alike (`uniform`), or more often those with a large policy
    surprise (`surprise`)."""
    surprise_share: float = 0.5
    """The share of the drawing weight that follows the policy surprise."""
    value_lambda: float = 0.0
    """The lambda of Watkins's Q(lambda) value targets: 0 takes the search's value of the position,
    1 the game's result unless a later move was exploratory."""
    symmetries: bool = True
    """Whether each position is transformed by a random symmetry of the board."""
    average_duplicates: bool = False
    """Whether positions that occur several times in the window get the mean of their targets; for
    games with few actions, such as Connect Four."""
    duplicate_weight: Literal["linear", "log", "constant"] = "linear"
    """How often a position that occurs n times is drawn: as n (`linear`), 1 + log2 n (`log`), or 1
    (`constant`)."""
    workers: int = 1
    """The number of threads that make batches; the batches do not depend on it."""
    prefetch: int = 3
    """The number of batches made ahead."""

    def check(self) -> None:
        """Raise `UserError` for numbers that make no sense."""
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("scale", "max_positions") else 1
            if field.type is int and value < least:
                raise UserError(f"{field.name} must be {least} or more, not {value}")
            if field.type is float and not 0 <= value <= 1:
                raise UserError(f"{field.name} must be from 0 to 1, not {value}")
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
        gain = scale * math.log1p(grown / scale)
    else:
        gain = scale * (((grown + scale) / scale) ** exponent - 1) / exponent
    size = min(total_positions, int(least + settings.growth * gain))
    return min(size, settings.max_positions) if settings.max_positions else size
