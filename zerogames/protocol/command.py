"""What the commands share that play under a protocol."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from zerogames.game import Game
from zerogames.protocol.session import P, Session


def find_net_file(net: Path | None, game: Game) -> Path:
    """Return the file of the net; one of another program is converted when it is loaded."""
    from zerogames.runs.net_source import find_net

    source = find_net(net, game)
    return source.path or source.file()


def run_session(open_session: Callable[[TextIO], Session[P]]) -> None:
    """Answer what stands on the standard input; the session writes to what it is opened with."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Whatever is echoed must not end the session in a locale that cannot write it.
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    open_session(sys.stdout).run(sys.stdin.buffer)
