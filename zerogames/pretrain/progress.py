"""What a person sees while a net learns."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

_LINE_SECONDS = 60.0
"""Between two lines of training where there is no terminal."""


class Learning(Protocol):
    """What is shown of a run."""

    @property
    def progress(self) -> float:
        """Share of the run that is over."""

    @property
    def elapsed_s(self) -> float:
        """Seconds of all sessions."""

    @property
    def waiting_share(self) -> float:
        """Share of the time in which the net waited for data."""


class ProgressDisplay:
    """A bar on a terminal, with rate, time left and waiting; elsewhere a line a minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("reading", total=1.0)
        self._rate = 0.0
        self._next_line = 0.0
        self._begun: tuple[float, float] | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def line(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(text, highlight=False, soft_wrap=True, markup=False)

    def show(self, run: Learning) -> None:
        """Move the bar."""
        if not self._console.is_terminal:
            return
        now, progress = time.perf_counter(), run.progress
        if self._begun is None:
            self._begun = (now, progress)
        spent, made = now - self._begun[0], progress - self._begun[1]
        left = f"{clock(spent * (1 - progress) / made)} left" if made > 0 else ""
        rate = f"{self._rate:,.0f} positions/s" if self._rate else ""
        waiting = f"{run.waiting_share:.0%} waiting for data"
        shown = ", ".join(part for part in (rate, left, waiting) if part)
        self._bar.update(self._task, completed=progress, description=shown)

    def train_line(self, line: Mapping[str, float]) -> None:
        """Note the figures of some steps."""
        self._rate = line["train_samples_per_s"]
        if self._console.is_terminal or time.perf_counter() < self._next_line:
            return
        self._next_line = time.perf_counter() + _LINE_SECONDS
        self.line(
            f"{clock(line['time_s'])} step {line['step']:,}: loss {line['loss']:.3f}, accuracy "
            f"{line['policy_accuracy']:.2%}, value MSE {line['value_mse']:.3f}, "
            f"{self._rate:,.0f} positions/s, {line['waiting_share']:.0%} waiting for data"
        )

    def validation_line(self, step: int, figures: Mapping[str, float]) -> None:
        """Print what a validation found."""
        phases = ", ".join(
            f"{name.partition('/')[0]} {value:.1%}"
            for name, value in figures.items()
            if name.endswith("/policy_accuracy")
        )
        self.line(
            f"step {step:,}: validation accuracy {figures['policy_accuracy']:.2%}"
            f"{f' ({phases})' if phases else ''}, value MSE {figures['value_mse']:.4f} "
            f"(/4: {figures['value_mse_quarter']:.4f}), policy loss {figures['policy_loss']:.3f}"
        )


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
