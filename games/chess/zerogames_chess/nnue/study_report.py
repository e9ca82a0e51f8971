"""The results of a study as Markdown, JSON and pictures."""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zerogames.atomic import write_atomically, write_text_atomically
from zerogames_chess.nnue.study_settings import StudySettings

Elo = Mapping[str, tuple[float, float]]
"""The rating of each player against the baseline and half the 95 % interval."""

_COLUMNS = (
    ("validation_loss", "loss", "{:.5f}"),
    ("puzzle_accuracy", "puzzles", "{:.1%}"),
    ("human_match", "human moves", "{:.1%}"),
    ("training_s", "training s", "{:,.0f}"),
    ("inferences_per_s", "inferences/s", "{:,.0f}"),
    ("nodes_per_s", "nodes/s", "{:,.0f}"),
    ("active", "active", "{:.1f}"),
    ("added", "added", "{:.2f}"),
    ("removed", "removed", "{:.2f}"),
    ("refresh_share", "refreshes", "{:.1%}"),
    ("unseen_features", "unseen", "{:,.0f}"),
    ("neurons_off", "neurons off", "{:.0f}"),
    ("neurons_full", "neurons full", "{:.0f}"),
)
"""Measure, heading, form of the mean over seeds; those that were not taken are left out."""
_WITH_DEVIATION = ("validation_loss", "puzzle_accuracy")


def write_report(
    settings: StudySettings,
    measured: Mapping[str, Sequence[Mapping[str, Any]]],
    elo: Mapping[str, Elo],
) -> Path:
    """Write `study.md`, `study.json` and the plots; returns the Markdown file."""
    out = settings.out
    data = {"measures": measured, "elo": elo}
    write_text_atomically(out / "study.json", json.dumps(data, indent=1) + "\n")
    write_atomically(out / "elo.png", lambda path: _plot_elo(measured, elo, path))
    pictures = ["elo.png"]
    if any("puzzle_buckets" in one for found in measured.values() for one in found):
        write_atomically(out / "puzzles.png", lambda path: _plot_puzzles(measured, path))
        pictures.append("puzzles.png")
    path = out / "study.md"
    write_text_atomically(path, _markdown(settings, measured, elo, pictures))
    return path


def _markdown(
    settings: StudySettings,
    measured: Mapping[str, Sequence[Mapping[str, Any]]],
    elo: Mapping[str, Elo],
    pictures: Sequence[str],
) -> str:
    taken = [column for column in _COLUMNS if any(column[0] in one for one in _all(measured))]
    limits = {"time": f"{settings.move_time_ms} ms a move", "nodes": f"{settings.nodes} nodes"}
    header = ["net", *(heading for _, heading, _ in taken)]
    header += [f"Elo, {limits[name]}" for name in elo]
    lines = ["# Feature sets and sizes", "", _conditions(settings), ""]
    lines += [_row(header), _row(["---", *["---:"] * (len(header) - 1)])]
    for name, found in measured.items():
        cells = [name, *(_cell(found, *column) for column in taken)]
        cells += [
            _elo_cell(name, settings.seeds[: settings.match_seeds], one) for one in elo.values()
        ]
        lines.append(_row(cells))
    lines += ["", *(f"![{name}]({name})" for name in pictures), ""]
    return "\n".join(lines)


def _conditions(settings: StudySettings) -> str:
    seeds = ", ".join(map(str, settings.seeds))
    training = settings.training
    return (
        f"Means over the seeds {seeds} (± standard deviation), {training.epochs} epochs, batch "
        f"{training.batch:,}, learning rate {training.learning_rate:g}. Elo: {settings.games} "
        f"games against {settings.nets[0]}, 95 % intervals, each opening with both colours. Added, "
        "removed and refreshes: by a legal move and perspective. Unseen: features that were never "
        "active in training, besides impossible ones."
    )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _all(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    return [one for found in measured.values() for one in found]


def _cell(found: Sequence[Mapping[str, Any]], key: str, heading: str, form: str) -> str:
    values = [float(one[key]) for one in found if key in one]
    if not values:
        return "-"
    text = form.format(statistics.fmean(values))
    if key in _WITH_DEVIATION and len(values) > 1:
        text += f" ± {form.format(statistics.stdev(values))}"
    return text


def _elo_cell(name: str, seeds: Sequence[int], elo: Elo) -> str:
    found = [elo[f"{name} s{seed}"] for seed in seeds if f"{name} s{seed}" in elo]
    return ", ".join(_elo_text(rating, error) for rating, error in found) or "-"


def _elo_text(rating: float, error: float) -> str:
    if error == 0:
        return f"{rating:.0f}"
    return f"{rating:+.0f} ± {error:.0f}" if math.isfinite(error) else f"{rating:+.0f}"


def _plot_elo(
    measured: Mapping[str, Sequence[Mapping[str, Any]]], elo: Mapping[str, Elo], path: Path
) -> None:
    """Elo by net, and loss against Elo: the loss is no measure of strength."""
    # Slow to import, and only a finished study draws.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = list(measured)
    figure = Figure(figsize=(11, 1.6 + 0.38 * max(4, len(names))), layout="constrained")
    FigureCanvasAgg(figure)
    bars, scatter = figure.subplots(1, 2, width_ratios=(3, 2))
    for number, (limit, ratings) in enumerate(elo.items()):
        shift = 0.2 * (number - (len(elo) - 1) / 2)
        points = [
            (row + shift, *rating)
            for row, name in enumerate(names)
            for player, rating in ratings.items()
            if player.rpartition(" s")[0] == name and math.isfinite(rating[0])
        ]
        if not points:
            continue
        rows, values, errors = zip(*points, strict=True)
        finite = [error if math.isfinite(error) else 0.0 for error in errors]
        bars.errorbar(values, rows, xerr=finite, fmt="o", capsize=3, label=f"fixed {limit}")
        losses = [
            statistics.fmean(one["validation_loss"] for one in measured[names[round(row - shift)]])
            for row in rows
        ]
        scatter.scatter(losses, values, label=f"fixed {limit}")
    bars.set_yticks(range(len(names)), names)
    bars.invert_yaxis()
    bars.set_xlabel("Elo against the first net, 95 % intervals")
    scatter.set_xlabel("validation loss")
    scatter.set_ylabel("Elo")
    for axes in (bars, scatter):
        axes.grid(alpha=0.3)
        if elo:
            axes.legend()
    figure.savefig(path, dpi=130, format="png")


def _plot_puzzles(measured: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Accuracy by rating of the puzzle."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, found in measured.items():
        sums: dict[int, list[int]] = {}
        for one in found:
            for rating, (asked, right) in one.get("puzzle_buckets", {}).items():
                total = sums.setdefault(int(rating), [0, 0])
                total[0] += asked
                total[1] += right
        ratings = sorted(sums)
        axes.plot(ratings, [sums[r][1] / sums[r][0] for r in ratings], marker="o", label=name)
    axes.set_xlabel("rating of the puzzle (200 points a bucket)")
    axes.set_ylabel("share of moves found")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=130, format="png")
