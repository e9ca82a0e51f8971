"""Look at training data and convert it: `zerogames data inspect PATH`."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from zerogames.arguments import read_subcommand
from zerogames.data.census import count_games
from zerogames.data.convert import convert
from zerogames.data.problems import OnProblem
from zerogames.data.sources import Source
from zerogames.errors import UserError
from zerogames.registry import game_names, get_game

_SHOWN_PROBLEMS = 20


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Options of every command that reads data."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Files, folders, tar and zip archives to read."""
    game: str | None = None
    """The game with its options, e.g. `go:size=9`; by default what the files look like."""
    on_problem: OnProblem = "skip"
    """Whether files and games that cannot be read are skipped and counted, or stop the command with
    their name."""


@dataclass(frozen=True, kw_only=True)
class Inspect(DataOptions):
    """Say what the files are, and which are broken; reads everything once."""


@dataclass(frozen=True, kw_only=True)
class Stats(DataOptions):
    """Count games, positions, lengths, results and duplicates."""

    json: bool = False
    """Whether one JSON line is printed instead of a table."""


@dataclass(frozen=True, kw_only=True)
class Convert(DataOptions):
    """Write the games as shards or in a format of another program."""

    to: str = "shards"
    """`shards`, or a format that the game writes, with one game in each file: `lc0` (V6 chunks) and
    `pgn` for chess, `sgf` for Go, `txt` for every game."""
    out: Path
    """The new folder for the converted files."""
    games_per_shard: int = 1000
    """The number of games in one shard."""
    engine_values: bool = False
    """Whether values in comments of the games are kept as the search's values."""


def main(argv: Sequence[str]) -> int:
    """Run `zerogames data`."""
    command = read_subcommand(
        {"inspect": Inspect, "stats": Stats, "convert": Convert}, argv, "zerogames data"
    )
    source = _open(command)
    if isinstance(command, Convert):
        return _convert(command, source)
    with _progress(source) as advance:
        census = count_games(source, advance)
    if isinstance(command, Stats) and command.json:
        print(json.dumps(census.as_json(source)))
        return 0
    console = Console()
    console.print(source.describe(), highlight=False, soft_wrap=True)
    table = Table(show_header=False)
    table.add_row("game", source.game.spec.identity)
    for kind, count in census.kinds.most_common():
        table.add_row(kind, f"{count:,} games")
    table.add_row("positions", f"{census.positions:,}")
    if isinstance(command, Stats):
        for name, share in (("shortest", 0.0), ("median", 0.5), ("longest", 1.0)):
            table.add_row(f"{name} game", f"{census.length_at(share):,} positions")
        for name, count in sorted(census.results.items()):
            table.add_row(f"first player: {name}", f"{count / census.games:.1%} ({count:,})")
        table.add_row("duplicates", f"{census.duplicates:,}")
    if source.ignored:
        table.add_row("other files", f"{source.ignored.total():,}")
    table.add_row("problems", f"{source.problems.count:,}")
    console.print(table)
    _show_problems(console, source)
    return 0


def _open(options: DataOptions) -> Source:
    engine_values = isinstance(options, Convert) and options.engine_values
    game = options.game or _recognise(options.paths)
    return Source(
        options.paths, get_game(game), on_problem=options.on_problem, engine_values=engine_values
    )


def _recognise(paths: Sequence[Path]) -> str:
    """The only game whose plugin recognises something; for shards the game they name."""
    found: list[str] = []
    shards: Source | None = None
    for name in game_names():
        try:
            source = Source(paths, get_game(name))
        except UserError as error:
            if "no such file" in str(error):
                raise
            continue
        if set(source.found) == {"shards"}:
            shards = source
        elif source.found:
            found.append(name)
    if shards is not None:
        found += [first.record().game for first in islice(shards.games(), 1)]
    if not found:
        raise UserError(f"{paths[0]}: no game installed here has such data; see the docs")
    if len(found) > 1:
        raise UserError(f"this may be data of {' or '.join(found)}; say which with --game")
    return found[0]


@contextmanager
def _progress(source: Source) -> Iterator[Callable[[int], None]]:
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(f"reading {len(source.paths):,} files")

        def advance(games: int) -> None:
            if games % 100 == 0:
                problems = source.problems.count
                bar.update(task, description=f"{games:,} games, {problems:,} problems")

        yield advance


def _convert(command: Convert, source: Source) -> int:
    console = Console()
    try:
        with _progress(source) as advance:
            done = convert(
                source,
                command.to,
                command.out,
                games_per_shard=command.games_per_shard,
                advance=advance,
            )
    except KeyboardInterrupt:
        console.print(f"stopped; what {command.out} holds is whole, empty it to start again")
        raise
    console.print(
        f"{command.out}: {done.games:,} games in {done.files:,} files, "
        f"{source.problems.count:,} problems",
        highlight=False,
        soft_wrap=True,
    )
    _show_problems(console, source)
    if done.games == 0:
        raise UserError("nothing could be converted")
    return 0


def _show_problems(console: Console, source: Source) -> None:
    for name, reason in source.problems.named[:_SHOWN_PROBLEMS]:
        console.print(f"  {name}: {reason}", highlight=False, markup=False, soft_wrap=True)
    more = source.problems.count - _SHOWN_PROBLEMS
    if more > 0:
        console.print(f"  and {more:,} more")
