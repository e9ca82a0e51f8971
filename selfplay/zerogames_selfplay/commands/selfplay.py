"""Play games against itself and keep the records: `zerogames selfplay --game chess`."""

import threading
from collections.abc import Sequence

from rich.console import Console

from zerogames.command_line import Command, read_arguments
from zerogames.runs.display import Display
from zerogames.runs.signals import stop_on_signals
from zerogames.search.settings import search_preset
from zerogames_selfplay.players.display import print_summary
from zerogames_selfplay.players.settings import SelfplaySettings

_LINE_EVERY_S = 10.0


def main(argv: Sequence[str]) -> int:
    """Run `zerogames selfplay`."""
    return play(read_arguments(COMMAND, argv), Console())


COMMAND = Command(
    name="selfplay",
    settings=SelfplaySettings,
    description="Play games against itself and keep the records.",
    default_presets=("selfplay",),
    search_preset=search_preset,
)


def play(settings: SelfplaySettings, console: Console) -> int:
    """Play until a limit, Ctrl-C or an error, and print the summary."""
    from zerogames_selfplay.selfplay import run_selfplay

    stop = threading.Event()
    with stop_on_signals(stop), Display(console, line_every_s=_LINE_EVERY_S) as display:
        result = run_selfplay(settings, display=display, stop=stop)
    print_summary(console, result.counts, result.elapsed_s)
    display.line(f"{len(result.shards)} record files in {result.paths.shards}")
    if stop.is_set():
        display.line("stopped; the same command continues from here")
    display.line(f"next: zerogames info {result.paths.path}")
    return 0
