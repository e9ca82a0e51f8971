"""What a person sees while a run learns, and afterwards."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from zerogames_selfplay.loop.folder import TrainFolder
from zerogames_selfplay.loop.status import Status
from zerogames_selfplay.players.display import results_text

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 40


def sparkline(values: Sequence[float], width: int = _WIDTH) -> str:
    """A curve of blocks; longer ones are thinned out."""
    if not values:
        return ""
    if len(values) > width:
        values = [values[index * (len(values) - 1) // (width - 1)] for index in range(width)]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values)


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def rating_text(status: Status) -> str:
    """The newest rating with its interval."""
    if not status.ratings:
        return "not rated yet"
    _, elo, low, high = status.ratings[-1]
    return f"{elo:+.0f} Elo ({low:+.0f} to {high:+.0f})"


class TrainPanel:
    """A live panel on a terminal; elsewhere only the lines that the loop prints."""

    def __init__(self, console: Console) -> None:
        self._console = console
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

    def show(self, status: Status) -> None:
        """Show the present state."""
        if self._console.is_terminal:
            self._live.update(self._group(status))

    def line(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(text, highlight=False, soft_wrap=True, markup=False)

    def _group(self, status: Status) -> Group:
        bar = Table.grid(expand=True)  # a bar alone does not end its line
        bar.add_row(
            ProgressBar(total=1.0, completed=status.progress or 0.0, pulse=status.progress is None)
        )
        doing = Text(f"{status.phase}: {status.reason}" if status.reason else status.phase)
        return Group(bar, doing, _table(status))


def _table(status: Status) -> Table:
    table = Table.grid(padding=(0, 2))
    learner, metrics = status.learner, status.metrics
    counts = status.selfplay
    left = "until Ctrl-C" if status.progress is None else f"{100 * status.progress:.0f}% done"
    if status.limit_s is not None:
        left = f"{clock(max(0.0, status.limit_s - status.elapsed_s))} left"
    table.add_row("time", f"{clock(status.elapsed_s)}, {left}", "net", status.playing)
    table.add_row(
        "self-play",
        f"{status.positions_per_s:,.0f} positions/s, {counts.games:,} games",
        "results",
        results_text(counts),
    )
    if learner is not None:
        table.add_row(
            "learner",
            f"generation {learner.generation}, step {learner.step:,}",
            "window",
            f"{learner.window:,} of {learner.positions:,} positions",
        )
    if metrics:
        table.add_row(
            "loss",
            f"{metrics['loss']:.3f} = policy {metrics['policy_loss']:.3f} + value "
            f"{metrics['value_loss']:.3f}",
            "",
            sparkline(status.losses),
        )
        table.add_row(
            "accuracy",
            f"policy {100 * metrics['policy_accuracy']:.1f}%, value MSE {metrics['value_mse']:.3f}",
            "rate",
            f"{metrics['learning_rate']:.2e}",
        )
    table.add_row(
        "rating", rating_text(status), "", sparkline([elo for _, elo, _, _ in status.ratings])
    )
    if status.restarts:
        table.add_row("restarts", f"{status.restarts}", "", "")
    return table


def generation_line(status: Status) -> str:
    """One line for a generation, for logs."""
    learner, metrics = status.learner, status.metrics
    assert learner is not None
    rating = f", {rating_text(status)}" if status.ratings else ""
    return (
        f"{clock(status.elapsed_s)} generation {learner.generation}: step {learner.step:,}, "
        f"{learner.positions:,} positions ({status.positions_per_s:,.0f}/s), "
        f"window {learner.window:,}, loss {metrics['loss']:.3f} "
        f"(policy {metrics['policy_loss']:.3f}, value {metrics['value_loss']:.3f}), "
        f"accuracy {100 * metrics['policy_accuracy']:.1f}%, "
        f"value MSE {metrics['value_mse']:.3f}{rating}"
    )


def print_train_summary(console: Console, status: Status, folder: TrainFolder) -> None:
    """One screen at the end."""
    learner = status.learner
    assert learner is not None
    table = Table(show_header=False, title=f"training of {status.game}", title_style="bold")
    table.add_row("net", f"{status.net}, playing: {status.playing}")
    table.add_row("time", clock(status.elapsed_s))
    table.add_row("generations", f"{learner.generation:,}")
    table.add_row("steps", f"{learner.step:,} ({learner.samples:,} samples)")
    table.add_row("games", f"{learner.games:,} ({learner.positions:,} positions)")
    if status.metrics:
        metrics = status.metrics
        table.add_row(
            "loss",
            f"{metrics['loss']:.3f} (policy {metrics['policy_loss']:.3f}, value "
            f"{metrics['value_loss']:.3f})",
        )
        table.add_row("policy accuracy", f"{100 * metrics['policy_accuracy']:.1f}%")
    table.add_row("rating", rating_text(status))
    if learner.set_aside:
        table.add_row("set aside", f"{learner.set_aside} damaged shards in {folder.path}")
    console.print(table)
