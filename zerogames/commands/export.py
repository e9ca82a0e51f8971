"""Write a net for other programs: `zerogames export NET --format onnx`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from zerogames.arguments import read_options
from zerogames.export import ExportOptions

NOT_BUILT = 1
"""The exit code if an engine could not be built here."""


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """Write a net for other programs, and check that the file gives the net's answers."""

    net: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NET")]
    """A net file (ours or of another program, such as `.pb.gz`), or with `--game` `newest`,
    `shipped` or the name of a new net with random weights, such as `mob_krb_6x96`."""
    format: str = "onnx"
    """The format: `onnx`, `int8`, `tensorrt`, `tensorrt-rtx`, for chess `lc0`, or another one of a
    plugin."""
    out: Path | None = None
    """The file to write; by default it lies beside the net."""
    game: str = ""
    """The game of a new net; for a file, another board size of its game."""
    options: Annotated[ExportOptions, tyro.conf.arg(name="")] = field(default_factory=ExportOptions)


def main(argv: Sequence[str]) -> int:
    """Run `zerogames export`."""
    settings = read_options(ExportSettings, argv, "zerogames export")
    from zerogames.export.formats import default_path, export_net
    from zerogames.export.parity import ExportDiffers
    from zerogames.registry import get_game
    from zerogames.runs.net_source import find_net

    console, format, options = Console(), settings.format, settings.options
    out = settings.out or default_path(settings.net, format, options)
    game = get_game(settings.game) if settings.game else None
    source = find_net(settings.net, game)
    try:
        net = source.path or source.load()[0]
        report = export_net(net, out, format=format, game=game, options=options)
    except ExportDiffers as error:
        _print(console, error.parity.describe())
        raise
    _print(console, str(report))
    if report.missing:
        print(f"no engine was built; missing: {', '.join(report.missing)}", file=sys.stderr)
        return NOT_BUILT
    return 0


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
