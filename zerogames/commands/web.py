"""Play, analyse and watch runs in the browser: `zerogames web --game go:size=9`."""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from zerogames.arguments import read_options
from zerogames.errors import UserError
from zerogames.registry import get_game


@dataclass(frozen=True, kw_only=True)
class WebOptions:
    """Serve a page to this computer's browser: play any installed game against any net.

    The address holds a secret; nobody without it, and no other page in the browser, can use it.
    """

    game: str = "chess"
    """The game to begin with, with its options, e.g. go:size=9."""
    net: tuple[str, ...] = ()
    """Net files to offer beside the newest one of the runs in `runs` and the shipped ones."""
    runs: Path = Path("runs")
    """The folder whose runs are shown."""
    run: tuple[Path, ...] = ()
    """Folders of further runs to show."""
    port: int = 8680
    """The port on loopback; 0 takes one that is free."""
    threads: int = os.cpu_count() or 1
    """CPU threads of one search."""
    precision: Literal["fp32", "int8"] = "fp32"
    """The nets' precision: int8 is faster on CPUs with VNNI, slower on others, and rounds."""
    browser: bool = True
    """Whether to open the page in the browser."""
    new_address: bool = False
    """Whether to make a new secret, so that addresses of earlier starts no longer work."""
    seed: int = field(default_factory=lambda: int.from_bytes(os.urandom(4), "little"))
    """The seed of everything random; by default another one each time."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames web` until Ctrl-C."""
    options = read_options(WebOptions, argv, "zerogames web")
    missing = [name for name in ("starlette", "uvicorn") if not importlib.util.find_spec(name)]
    if missing:
        raise UserError(f"{missing[0]} is not installed; type: pip install 'zerogames[web]'")
    if not 0 <= options.port <= 65535:
        raise UserError(f"--port {options.port}: write a number from 0 to 65535")
    if options.threads < 1:
        raise UserError(f"--threads {options.threads}: write 1 or more")
    game = get_game(options.game)
    from zerogames.runs.net_source import find_net
    from zerogames.web.server import WebSettings, open_socket, serve, stored_token

    for net in options.net:
        if find_net(net).path is None:
            raise UserError(f"--net {net}: name a file")
    for run in options.run:
        if not run.is_dir():
            raise UserError(f"--run {run}: there is no such folder")
    settings = WebSettings(
        game=game.spec.identity,
        nets=options.net,
        runs_folder=options.runs,
        runs=options.run,
        threads=options.threads,
        precision=options.precision,
        seed=options.seed,
    )
    token = stored_token(new=options.new_address)
    with open_socket(options.port) as listener:
        serve(settings, listener, token, show=options.browser)
    return 0
