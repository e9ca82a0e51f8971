"""Learn from games of others: `zerogames pretrain --game chess --data games.pgn`."""

import threading
from collections.abc import Sequence

from rich.console import Console

from zerogames.command_line import Command, read_arguments
from zerogames.config import make_settings
from zerogames.pretrain.settings import KIND, PretrainSettings
from zerogames.runs.folder import read_run


def main(argv: Sequence[str]) -> int:
    """Run `zerogames pretrain`."""
    return run_pretraining(read_arguments(COMMAND, argv), Console())


def _earlier(asked: PretrainSettings) -> PretrainSettings | None:
    table = read_run(asked.folder, KIND) if asked.folder.is_dir() else None
    return None if table is None else make_settings(PretrainSettings, table["settings"])


COMMAND = Command(
    name="pretrain",
    settings=PretrainSettings,
    description="Supervised training on games of others. The same folder is continued.",
    earlier=_earlier,
    limits=("minutes", "steps"),
)


def run_pretraining(settings: PretrainSettings, console: Console) -> int:
    """Train until a limit, Ctrl-C or an error; the trained net is on disk afterwards."""
    settings.check()
    from zerogames.pretrain.run import train

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    stop = threading.Event()
    paths = train(settings, console, stop)
    if stop.is_set():
        say("stopped; the same command continues from here")
    say(f"net: {paths.net} (about it: {paths.card})")
    say(f"next: zerogames play --game {settings.game} --net {paths.net}")
    return 0
