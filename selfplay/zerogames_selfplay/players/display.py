"""What a person sees while games are played, and afterwards."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.settings import SelfplaySettings

_LINE_INTERVAL_S = 10.0
"""Without a terminal a line is printed so often."""


class Panel:
    """A live panel on a terminal, a line now and then elsewhere."""

    def __init__(self, settings: SelfplaySettings, console: Console) -> None:
        self._settings = settings
        self._console = console
        self._start = time.monotonic()
        self._last_line = self._start
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    @property
    def elapsed_s(self) -> float:
        """Since the start."""
        return time.monotonic() - self._start

    def progress(self, counts: Counts) -> float | None:
        """Share of the run that is done, by the limit that is nearest."""
        settings = self._settings
        shares = []
        if settings.games is not None:
            shares.append(counts.games / settings.games)
        if settings.positions is not None:
            shares.append(counts.positions / settings.positions)
        if settings.limit_s is not None:
            shares.append(self.elapsed_s / settings.limit_s)
        return min(1.0, max(shares)) if shares else None

    def show(self, counts: Counts, *, note: str = "") -> None:
        """Show the present state."""
        if self._console.is_terminal:
            self._live.update(self._table(counts, note))
        elif time.monotonic() - self._last_line >= _LINE_INTERVAL_S:
            self._last_line = time.monotonic()
            self._console.print(
                f"{counts.games} games, {counts.positions} positions, "
                f"{counts.evaluations / self.elapsed_s:,.0f} evaluations/s"
                f"{f', {note}' if note else ''}",
                highlight=False,
            )

    def _table(self, counts: Counts, note: str) -> Group:
        done = self.progress(counts)
        table = Table.grid(padding=(0, 2))
        seconds = max(self.elapsed_s, 1e-3)
        table.add_row("games", f"{counts.games:,}", "results", results_text(counts))
        table.add_row(
            "positions/s",
            f"{counts.positions / seconds:,.1f}",
            "mean length",
            f"{counts.mean_length:.1f} plies",
        )
        table.add_row(
            "evaluations/s",
            f"{counts.evaluations / seconds:,.0f}",
            "resignations",
            resignations_text(counts),
        )
        left = "until Ctrl-C"
        if done:
            left = f"{seconds * (1 / done - 1):,.0f} s" if done > 0.01 else "..."
        table.add_row("time left", left, "", note)
        bar = ProgressBar(total=1.0, completed=done or 0.0, pulse=done is None)
        return Group(bar, table)


def results_text(counts: Counts) -> str:
    """First player's wins, draws, losses."""
    games = max(1, counts.games)
    wins, draws, losses = (
        f"{100 * number / games:.0f}%"
        for number in (counts.first_wins, counts.draws, counts.second_wins)
    )
    return f"first {wins}, draws {draws}, second {losses}"


def resignations_text(counts: Counts) -> str:
    """How many games ended so, and how often that would have been wrong."""
    text = f"{counts.reasons['resignation']:,}"
    share = counts.false_resign_share
    if share is not None:
        text += f" ({100 * share:.1f}% wrong of {counts.would_resign} checked)"
    return text


def print_summary(console: Console, counts: Counts, elapsed_s: float) -> None:
    """One screen at the end."""
    seconds = max(elapsed_s, 1e-3)
    table = Table(show_header=False, title="self-play", title_style="bold")
    table.add_row("games", f"{counts.games:,}")
    table.add_row("positions", f"{counts.positions:,} ({counts.positions / seconds:,.1f}/s)")
    looked_up = counts.evaluations + counts.cache_hits
    hits = f", {100 * counts.cache_hits / looked_up:.0f}% more from the cache" if looked_up else ""
    rate = counts.evaluations / seconds
    table.add_row("evaluations", f"{counts.evaluations:,} ({rate:,.0f}/s{hits})")
    table.add_row("mean length", f"{counts.mean_length:.1f} plies")
    table.add_row("results", results_text(counts))
    ends = ", ".join(f"{reason} {number}" for reason, number in counts.reasons.most_common(5))
    table.add_row("endings", ends or "-")
    table.add_row("resignations", resignations_text(counts))
    if counts.dropped:
        table.add_row("given up", f"{counts.dropped:,} unfinished games")
    table.add_row("time", f"{seconds:,.1f} s")
    console.print(table)
