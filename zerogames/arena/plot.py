"""Ratings as a picture."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from zerogames.arena.bradley_terry import Rating


def plot_ratings(ratings: Sequence[Rating], path: Path, *, title: str, scale: str = "") -> None:
    """Write a PNG with one line per player, the strongest on top, and 95 % intervals.

    Players without a finite rating (all games won or lost, rated by direct games) are drawn at the
    edge with an arrow.
    """
    # Slow to import, and most commands do not draw.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.4 + 0.4 * max(2, len(ratings))), layout="constrained")
    axes = figure.add_subplot()
    finite = [rating.elo for rating in ratings if math.isfinite(rating.elo)] or [0.0]
    for row, rating in enumerate(reversed(ratings)):
        if not math.isfinite(rating.elo):
            edge = max(finite) if rating.elo > 0 else min(finite)
            marker = ">" if rating.elo > 0 else "<"
            axes.plot([edge], [row], marker=marker, color="tab:red", markersize=9)
            label = "all won" if rating.elo > 0 else "all lost"
        elif rating.anchored:
            axes.plot([rating.elo], [row], marker="D", color="black")
            label = f"{rating.elo:.0f} (fixed)"
        else:
            error = rating.error if math.isfinite(rating.error) else 0.0
            axes.errorbar(
                [rating.elo], [row], xerr=[error], marker="o", color="tab:blue", capsize=4
            )
            width = f"{rating.error:.0f}" if math.isfinite(rating.error) else "inf"
            label = f"{rating.elo:.0f} ± {width}"
        axes.annotate(
            label, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=9
        )
    axes.set_yticks(range(len(ratings)), [_short(rating.name) for rating in reversed(ratings)])
    axes.set_ylim(-0.6, max(len(ratings) - 0.4, 0.6))
    axes.margins(x=0.08)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("Elo")
    axes.set_title(title)
    if scale:
        figure.text(0.01, -0.01, textwrap.fill(scale, 120), fontsize=7, va="top")
    figure.savefig(path, dpi=130, format="png", bbox_inches="tight")


def _short(name: str) -> str:
    return name if len(name) <= 36 else f"{name[:20]}…{name[-15:]}"
