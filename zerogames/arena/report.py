"""What a match or tournament showed, as text, Markdown and JSON."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic_core import to_json
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from zerogames.arena.bradley_terry import Rating, direct_ratings, rate_tallies
from zerogames.arena.elo import estimate_elo, estimate_tally, win_rate
from zerogames.arena.results import Outcome, Tally, tally
from zerogames.arena.sprt import Sprt

ZERO_IS_MEAN = "Elo by scores (Bradley-Terry, a draw is half a win), 95 % intervals; the mean is 0."

PAIRINGS = "Pairings"


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def rich(self) -> Table:
        """Return the table for the terminal."""
        table = Table(title=escape(self.title), title_style="bold")
        for index, name in enumerate(self.header):
            table.add_column(
                escape(name), justify="left" if index == 0 else "right", overflow="fold"
            )
        for row in self.rows:
            table.add_row(*map(escape, row))
        return table

    def turned(self) -> "Grid":
        """The first row as a column: fits where its names are long."""
        rows = list(zip(self.header, self.rows[0], strict=True))
        return Grid("", rows[0], rows[1:])

    def markdown(self) -> str:
        """Return the table in Markdown, with the title as a heading."""
        lines = [f"## {self.title}", "", _markdown_row(self.header)]
        lines.append(_markdown_row(["---", *["---:"] * (len(self.header) - 1)]))
        return "\n".join([*lines, *map(_markdown_row, self.rows)])


@dataclass(frozen=True, kw_only=True)
class EventReport:
    """Ratings, pairings and conditions of one event."""

    title: str
    tallies: Sequence[Tally]
    ratings: Sequence[Rating]
    scale: str
    """What the ratings are relative to."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Time control, nodes, openings, machine: ratings only compare under equal ones."""
    faults: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Games lost by crash, illegal move or time, by player."""
    sprt: Sprt | None = None

    def grids(self) -> list[Grid]:
        """All tables, the most important first."""
        grids = [_pairing_grid(self.tallies)]
        if len(self.ratings) > 2:
            grids = [_rating_grid(self.ratings), _cross_grid(self), *grids]
        elif any(rating.anchored for rating in self.ratings):
            grids = [_rating_grid(self.ratings), *grids]
        if self.faults:
            grids.append(_fault_grid(self.faults))
        return grids

    def notes(self) -> list[str]:
        """Sentences below the tables."""
        notes = [self.scale]
        if self.sprt and self.tallies:
            notes.append(sprt_line(self.sprt, self.tallies[0]))
        return notes

    def print(self, console: Console) -> None:
        """Show on a terminal, on one screen: with many players their pairings are left out."""
        for grid in self.grids():
            if grid.title != PAIRINGS:
                console.print(grid.rich())
            elif len(grid.rows) == 1:
                console.print(grid.turned().rich())
            elif len(self.ratings) <= 3:
                console.print(grid.rich())
        for note in self.notes():
            console.print(escape(note), highlight=False)

    def markdown(self) -> str:
        """Return a Markdown document."""
        parts = [f"# {self.title}", *self.notes()]
        parts += [grid.markdown() for grid in self.grids()]
        if self.conditions:
            rows = list(self.conditions.items())
            parts.append(Grid("Conditions", ("what", "value"), rows).markdown())
        return "\n\n".join(parts) + "\n"

    def json(self) -> str:
        """Return JSON, in which numbers that do not exist are null."""
        pairings = [
            asdict(one)
            | {"elo": estimate_tally(one), "elo_by_games": estimate_elo(one.wdl)}
            | {"win_rate": win_rate(one)}
            for one in self.tallies
        ]
        data: dict[str, Any] = {
            "title": self.title,
            "scale": self.scale,
            "conditions": dict(self.conditions),
            "ratings": self.ratings,
            "pairings": pairings,
            "faults": self.faults,
        }
        if self.sprt and self.tallies:
            results = self.tallies[0].distribution
            data["sprt"] = asdict(self.sprt) | {
                "llr": self.sprt.llr(results),
                "bounds": self.sprt.bounds,
                "verdict": self.sprt.verdict(results),
            }
        return to_json(data, indent=2, inf_nan_mode="null").decode() + "\n"


def make_report(
    outcomes: Iterable[Outcome],
    *,
    title: str,
    anchors: Mapping[str, float] | None = None,
    elo_from: str | None = None,
    order: Sequence[str] = (),
) -> EventReport:
    """Count and rate the games; conditions, faults and SPRT may be filled in by `replace`.

    Args:
        outcomes: The finished games.
        title: The report's heading.
        anchors: Players of known rating; without any, the mean rating is 0.
        elo_from: Rate by direct games against this player only (its rating from `anchors`, else 0).
        order: The players in order; a pairing is seen by the one who comes first.
    """
    tallies = _in_order(tally(outcomes), order)
    anchors = dict(anchors or {})
    if elo_from is not None:
        base = anchors.get(elo_from, 0.0)
        ratings = direct_ratings(tallies, elo_from, base)
        scale = (
            f"Elo from direct games against {elo_from} ({base:g}), 95 % intervals relative to it."
        )
    elif len(tallies) == 1 and not anchors:
        ratings = rate_tallies(tallies)
        scale = "Elo of the first named over the second, 95 % intervals."
    else:
        ratings = rate_tallies(tallies, anchors=anchors)
        fixed = ", ".join(f"{name} at {elo:g}" for name, elo in anchors.items())
        scale = ZERO_IS_MEAN.replace("the mean is 0", f"fixed: {fixed}") if fixed else ZERO_IS_MEAN
    return EventReport(title=title, tallies=tallies, ratings=ratings, scale=scale)


def _in_order(tallies: Sequence[Tally], order: Sequence[str]) -> list[Tally]:
    rank = {name: index for index, name in enumerate(order)}

    def place(name: str) -> int:
        return rank.get(name, len(rank))

    turned = [one if place(one.a) <= place(one.b) else one.swapped for one in tallies]
    return sorted(turned, key=lambda one: (place(one.a), place(one.b)))


def plus_minus(value: float, error: float, digits: int = 1) -> str:
    """Write `value +- error`, with `n.a.` for what does not exist."""
    if math.isnan(value):
        return "n.a."
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    value = round(value, digits) + 0.0  # no -0.0
    return f"{value:+.{digits}f} ± {'inf' if math.isinf(error) else f'{error:.{digits}f}'}"


def sprt_line(sprt: Sprt, one: Tally) -> str:
    """Log-likelihood ratio, bounds and verdict."""
    lower, upper = sprt.bounds
    verdict = sprt.verdict(one.distribution)
    end = f"{verdict} accepted" if verdict else "not decided"
    return f"{sprt}: LLR {sprt.llr(one.distribution):+.2f} ({lower:.2f}, {upper:.2f}), {end}."


def _rating_grid(ratings: Sequence[Rating]) -> Grid:
    rows = []
    for rank, rating in enumerate(ratings, start=1):
        if rating.anchored:
            elo = f"{rating.elo:+.1f} (fixed)"
        else:
            elo = plus_minus(rating.elo, rating.error)
        met = "-" if math.isnan(rating.opponents_elo) else f"{rating.opponents_elo:+.1f}"
        score = f"{100 * rating.wdl.score:.1f} %"
        rows.append(
            (rating.name, str(rank), elo, f"{rating.wdl.games:g}", str(rating.wdl), score, met)
        )
    header = ("player", "rank", "Elo", "games", "W-D-L", "score", "opponents")
    return Grid("Ratings", header, rows)


def _cross_grid(report: EventReport) -> Grid:
    """Points of the row's player against each column's, players in order of strength."""
    names = [rating.name for rating in report.ratings]
    met = {(one.a, one.b): one.wdl for one in report.tallies}
    met |= {(one.b, one.a): one.wdl.swapped for one in report.tallies}
    rows = []
    for rank, name in enumerate(names, start=1):
        cells = [
            f"{met[name, other].points:g}/{met[name, other].games:g}"
            if (name, other) in met
            else "·"
            for other in names
        ]
        rows.append((f"{rank} {name}", *cells))
    return Grid("Cross table", ("player", *[str(i + 1) for i in range(len(names))]), rows)


def _pairing_grid(tallies: Sequence[Tally]) -> Grid:
    rows = []
    for one in tallies:
        estimate = estimate_tally(one)
        pairs = " ".join(f"{count:g}" for count in one.pairs.counts) if one.is_paired else "-"
        rows.append(
            (
                f"{one.a} - {one.b}",
                str(one.wdl),
                pairs,
                plus_minus(estimate.elo, estimate.elo_error),
                plus_minus(estimate.normalised, estimate.normalised_error),
                f"{100 * estimate.los:.1f} %",
                str(win_rate(one)),
            )
        )
    header = ("pairing", "W-D-L", "pairs 0 ½ 1 1½ 2", "Elo", "nElo", "LOS", "win rate (sigma)")
    return Grid(PAIRINGS, header, rows)


def _fault_grid(faults: Mapping[str, Mapping[str, int]]) -> Grid:
    rows = [
        (name, ", ".join(f"{count} x {fault}" for fault, count in counts.items()))
        for name, counts in faults.items()
    ]
    return Grid("Games lost by fault", ("player", "faults"), rows)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
