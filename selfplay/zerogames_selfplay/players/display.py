"""What a person sees of self-play: while games are played, and afterwards."""

from rich.console import Console
from rich.table import Table

from zerogames.runs.display import Frame
from zerogames_selfplay.players.counts import Counts


def selfplay_frame(counts: Counts, *, done: float | None, elapsed_s: float, title: str) -> Frame:
    """The present state.

    Args:
        counts: What was played.
        done: Share of the run that is done, None without limits.
        elapsed_s: Seconds since the games began.
        title: Where the records are.
    """
    seconds = max(elapsed_s, 1e-3)
    rates = (counts.positions / seconds, counts.evaluations / seconds)
    return Frame(
        done=done,
        title=title,
        rows=(
            ("games", f"{counts.games:,}", "results", results_text(counts)),
            ("positions/s", f"{rates[0]:,.1f}", "mean length", f"{counts.mean_length:.1f} plies"),
            ("evaluations/s", f"{rates[1]:,.0f}", "resignations", resignations_text(counts)),
        ),
        line=f"{counts.games} games, {counts.positions} positions, {rates[1]:,.0f} evaluations/s, "
        f"{title}",
    )


def results_text(counts: Counts) -> str:
    """First player's wins, draws, losses."""
    games = max(1, counts.games)
    wins, draws, losses = (
        f"{100 * number / games:.0f}%"
        for number in (counts.first_wins, counts.draws, counts.second_wins)
    )
    return f"first {wins}, draws {draws}, second {losses}"


def resignations_text(counts: Counts) -> str:
    """The number of resignations, and the share of false ones among those that were checked."""
    text = f"{counts.reasons['resignation']:,}"
    share = counts.false_resign_share
    if share is not None:
        text += f" ({100 * share:.1f}% wrong of {counts.would_resign} checked)"
    return text


def print_summary(console: Console, counts: Counts, elapsed_s: float) -> None:
    """Print one screen at the end."""
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
        table.add_row("dropped", f"{counts.dropped:,} unfinished games")
    table.add_row("time", f"{seconds:,.1f} s")
    console.print(table)
