"""Values as players read them."""

import math


def centipawns(value: float) -> float:
    """Return lc0's curve of a value in [-1, 1], so that nets and engines have equal limits."""
    return 90 * math.tan(1.5637541897 * max(-0.9999, min(0.9999, value)))


def mate_in(proven: int, plies: float) -> int | None:
    """Return the own moves to a proven end in `plies`: negative for a loss, None for a draw."""
    if proven == 0:
        return None
    whole = max(0, round(plies))
    return (whole + 1) // 2 if proven > 0 else -(whole // 2)


def wdl_of(value: float, draw: float) -> tuple[float, float, float]:
    """Return the probabilities of win, draw and loss from win minus loss and draw."""
    draw = max(0.0, min(draw, 1 - abs(value)))
    return (1 + value - draw) / 2, draw, (1 - value - draw) / 2
