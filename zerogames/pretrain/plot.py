"""The papers' curves as a picture."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zerogames.pretrain.statistics import mean_and_deviation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from zerogames.pretrain.comparison import Compared, Curve


def plot_comparison(compared: Sequence["Compared"], path: Path, *, title: str) -> None:
    """Write a PNG: accuracy above, value error below; by steps, parameters and speed."""
    # Slow to import, and most commands do not draw.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 8), layout="constrained")
    panels = figure.subplots(2, 3)
    for row, (name, curve, ends, scale) in enumerate(_FIGURES):
        _draw_curves(panels[row][0], compared, curve, scale)
        _draw_points(panels[row][1], compared, ends, scale, lambda net: net.parameters / 1e6)
        _draw_points(panels[row][2], compared, ends, scale, lambda net: net.speed)
        labels = ("steps", "million parameters", "positions per CPU second")
        for axes, label in zip(panels[row], labels, strict=True):
            axes.set_xlabel(label)
            axes.set_ylabel(name)
            axes.grid(alpha=0.3)
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(6, len(names)))
    figure.suptitle(title)
    figure.savefig(path, dpi=110, format="png")


_Ends = Callable[["Compared"], list[float]]
_FIGURES: tuple[tuple[str, Callable[["Curve"], tuple[float, ...]], _Ends, float], ...] = (
    ("policy accuracy, %", lambda curve: curve.policy_accuracy, lambda net: net.accuracies, 100),
    ("value MSE", lambda curve: curve.value_mse, lambda net: net.value_mses, 1),
)


def _draw_curves(
    axes: "Axes",
    compared: Sequence["Compared"],
    pick: Callable[["Curve"], tuple[float, ...]],
    scale: float,
) -> None:
    """The mean over the seeds, with a band of one deviation."""
    for number, net in enumerate(compared):
        curves = list(net.curves.values())
        steps = [step for step in curves[0].step if all(step in c.step for c in curves)]
        rows = [
            mean_and_deviation([scale * pick(c)[c.step.index(step)] for c in curves])
            for step in steps
        ]
        means, deviations = np.array(rows).T
        color = f"C{number}"
        axes.plot(steps, means, marker=".", color=color, label=net.name)
        if len(curves) > 1:
            axes.fill_between(steps, means - deviations, means + deviations, color=color, alpha=0.2)


def _draw_points(
    axes: "Axes",
    compared: Sequence["Compared"],
    ends: _Ends,
    scale: float,
    place: Callable[["Compared"], float],
) -> None:
    for number, net in enumerate(compared):
        mean, deviation = mean_and_deviation([scale * value for value in ends(net)])
        error = 0.0 if np.isnan(deviation) else deviation
        axes.errorbar([place(net)], [mean], yerr=[error], marker="o", capsize=4, color=f"C{number}")
    axes.margins(x=0.25, y=0.2)
