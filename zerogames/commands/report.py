"""Make one HTML page of a training run: `zerogames report RUN`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from zerogames.arguments import read_options
from zerogames.atomic import write_text_atomically
from zerogames.errors import UserError


def main(argv: Sequence[str]) -> int:
    """Run `zerogames report`."""
    return read_options(report, argv, "zerogames report")


def report(
    run: Annotated[Path, tyro.conf.Positional],
    /,
    *,
    out: Path | None = None,
    games: int = 3,
) -> int:
    """Write curves (Elo, losses, accuracy, games per hour) and some games as one HTML file.

    The page needs no other file and no network; it can be made while the run is under way.

    Args:
        run: The folder of the run.
        out: The file to write; by default `report.html` in the run's folder.
        games: How many games to show, spread over the run.
    """
    from zerogames.report.page import make_page
    from zerogames.report.run_data import read_run_data

    if not 0 <= games <= 100:
        raise UserError(f"--games {games}: write a number from 0 to 100")
    data = read_run_data(run)
    path = out or run / "report.html"
    if path.is_dir() or not path.parent.is_dir():
        raise UserError(f"--out {path}: name a file in a folder that exists")
    page = make_page(data, games=games)
    try:
        write_text_atomically(path, page)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    print(path)
    return 0
