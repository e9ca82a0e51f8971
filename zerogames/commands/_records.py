"""The part of `zerogames info` that shows game records and exports them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from zerogames.atomic import write_bytes_atomically
from zerogames.data import GameRecord
from zerogames.data.formats import get_game_data
from zerogames.data.statistics import RecordStatistics
from zerogames.errors import UserError, unknown_name
from zerogames.registry import get_game
from zerogames.runs.display import clock
from zerogames.runs.game_files import game_files, read_games
from zerogames.runs.worker_health import WorkerHealth, deviation, read_health


def show_records(console: Console, path: Path, export: Path | None) -> int:
    """Print statistics of the games at `path`; write their games to `export` if given.

    Broken files are named and counted; the exit code is 1 if there are any.
    """
    files = game_files(path) if path.is_dir() else [path]
    if not files:
        raise UserError(f"{path} holds no records (*.parquet)")
    statistics = RecordStatistics()
    broken: list[str] = []
    exporter = None if export is None else _Exporter(export)
    for file in track(files, "reading", console=console, transient=True):
        try:
            records, problem = read_games(file)
        except UserError as error:
            broken.append(str(error))
            continue
        if problem:
            broken.append(problem)
        statistics.add(records)
        if exporter is not None:
            exporter.add(records)
    table = Table(title=f"{len(files)} record files in {path}", show_header=False)
    for name, value in statistics.rows().items():
        table.add_row(name, value)
    console.print(table)
    if path.is_dir() and (workers := read_health(path)):
        console.print(_workers_table(workers))
    for line in broken:
        console.print(f"broken: {line}", highlight=False, soft_wrap=True)
    if exporter is not None:
        exporter.close()
        console.print(f"{exporter.games} games written to {export}", highlight=False)
    return 1 if broken else 0


def _workers_table(workers: Sequence[WorkerHealth]) -> Table:
    columns = ("worker", "node", "games", "positions/s", "restarts", "age of net", "difference")
    table = Table(*columns, title="workers of the last session")
    table.caption = "difference: of the mean result from that of the others, in standard errors"
    for one in workers:
        far = deviation(one, workers)
        table.add_row(
            one.name.removeprefix("worker "),
            one.node or "-",
            f"{one.games:,}",
            f"{one.positions_per_s:,.1f}",
            f"{one.restarts}",
            clock(one.net_age_s),
            "-" if far is None else f"{far:+.1f}",
        )
    return table


class _Exporter:
    """Writes games as one text file, or as a folder with a chunk for each; the suffix decides."""

    def __init__(self, path: Path) -> None:
        self.games = 0
        self._path = path
        self._format = path.suffix.removeprefix(".")
        self._texts: list[bytes] = []

    def add(self, records: Sequence[GameRecord]) -> None:
        for record in records:
            game = get_game(record.game)
            writers = get_game_data(game).writers
            if self._format not in writers:
                raise unknown_name(f"record format of {game.spec.name}", self._format, writers)
            writer = writers[self._format]
            if writer.one_per_file:
                self._path.mkdir(parents=True, exist_ok=True)
                name = self._path / f"game_{self.games:06d}{writer.suffix}"
                write_bytes_atomically(name, writer.write(record))
            else:
                self._texts.append(writer.write(with_search_comments(record)))
            self.games += 1

    def close(self) -> None:
        if self._texts:
            write_bytes_atomically(self._path, b"\n".join(self._texts))


def with_search_comments(record: GameRecord) -> GameRecord:
    """The record with what the search saw behind each move: value, draw, visits."""
    search = record.search
    if search is None:
        return record
    comments = dict(record.comments)
    visits = np.add.reduceat(np.append(search.policy_visits, 0), search.policy_offsets[:-1]) * (
        np.diff(search.policy_offsets) > 0
    )
    for ply in range(search.plies):
        q, d = search.values["played_q"][ply], search.values["played_d"][ply]
        if visits[ply] and np.isfinite(q):
            comments[ply] = f"q {q:+.3f} d {d:.3f} n {visits[ply]}"
    return replace(record, comments=comments)
