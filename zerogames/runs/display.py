"""The live display of a long command: a bar and rows on a terminal, occasional lines elsewhere."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The state of a command at one moment, as the display shows it."""

    done: float | None = None
    """Share of the work that is done, 0 to 1; None for work without an end."""
    title: str = ""
    """One line under the bar."""
    rows: Sequence[Sequence[str]] = ()
    """Names and values in columns, under the title."""
    line: str = ""
    """The display as one line, for output that is not a terminal; empty for no line."""


class Display:
    """Shows frames: live on a terminal, elsewhere a line at most every `line_every_s` seconds.

    Colours follow the console, which leaves them out if the variable NO_COLOR is set.
    """

    def __init__(self, console: Console, *, line_every_s: float = 60.0) -> None:
        self.console = console
        self._is_live = console.is_terminal and not console.is_dumb_terminal
        self._line_every_s = line_every_s
        self._start = self._last_line = time.monotonic()
        self._first: tuple[float, float] | None = None
        self._frame = Frame(title="starting")
        # Rows are laid out four times a second, however often a frame is given.
        self._live = Live(
            get_renderable=self._render, console=console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
        if self._is_live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_live:
            self._live.stop()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the display was made."""
        return time.monotonic() - self._start

    def show(self, frame: Frame) -> None:
        """Show the present state."""
        now = time.monotonic()
        if self._first is None and frame.done is not None:
            self._first = (now, frame.done)
        self._frame = frame
        if not self._is_live and frame.line and now - self._last_line >= self._line_every_s:
            self._last_line = now
            self.line(frame.line)

    def line(self, text: str, *, style: str | None = None) -> None:
        """Print a line that stays."""
        self.console.print(text, style=style, highlight=False, soft_wrap=True, markup=False)

    def time_left(self, done: float | None) -> str:
        """Estimate the rest from the speed so far; `until Ctrl-C` for work without an end."""
        if done is None:
            return "until Ctrl-C"
        if self._first is None or done <= self._first[1]:
            return ""
        first_time, first_done = self._first
        spent_s = time.monotonic() - first_time
        return f"{clock(spent_s * (1 - done) / (done - first_done))} left"

    def _render(self) -> Group:
        frame, done = self._frame, self._frame.done
        bar = Table.grid(expand=True, padding=(0, 2, 0, 0))
        bar.add_column(ratio=1)
        share = "" if done is None else f"{done:.0%}"
        bar.add_row(
            ProgressBar(total=1.0, completed=done or 0.0, pulse=done is None),
            share,
            self.time_left(done),
        )
        table = Table.grid(padding=(0, 2))
        for row in frame.rows:
            table.add_row(*map(Text, row))
        return Group(bar, *([Text(frame.title)] if frame.title else []), table)


def clock(seconds: float) -> str:
    """Hours, minutes and seconds, such as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """A curve of block characters; a curve longer than `width` is thinned out."""
    if not values:
        return ""
    if len(values) > width:
        values = [values[index * (len(values) - 1) // (width - 1)] for index in range(width)]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_BLOCKS[round((value - low) / span * (len(_BLOCKS) - 1))] for value in values)
