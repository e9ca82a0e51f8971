"""Values as players read them."""

import math


def centipawns(value: float) -> float:
    """Lc0's curve from a value in [-1, 1], so that limits mean the same for nets and engines."""
    return 90 * math.tan(1.5637541897 * max(-0.9999, min(0.9999, value)))


def mate_in(proven: int, plies: float) -> int | None:
    """Own moves to a proven win, negative for a loss, None for a draw; `plies` to the end."""
    if proven == 0:
        return None
    whole = max(0, round(plies))
    return (whole + 1) // 2 if proven > 0 else -(whole // 2)
