"""The part of `zerogames info` that shows game records and exports them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from zerogames.atomic import write_text_atomically
from zerogames.data import GameRecord
from zerogames.data.shard import read_shard, shard_paths
from zerogames.data.statistics import RecordStatistics
from zerogames.errors import UserError, unknown_name
from zerogames.registry import get_game


def record_files(path: Path) -> Sequence[Path]:
    """The shards at `path`: itself, or all below a folder."""
    return shard_paths(path) if path.is_dir() else [path]


def show_records(console: Console, path: Path, export: Path | None) -> int:
    """Print statistics of the shards at `path`; write their games to `export` if given.

    Broken shards are named and counted; the exit code is 1 if there are any.
    """
    files = record_files(path)
    if not files:
        raise UserError(f"{path} holds no records (*.parquet)")
    statistics = RecordStatistics()
    broken: list[str] = []
    texts: list[str] = []
    for file in track(files, "reading", console=console, transient=True):
        try:
            records = read_shard(file)
        except UserError as error:
            broken.append(str(error))
            continue
        statistics.add(records)
        if export is not None:
            texts += _texts(records, export.suffix.removeprefix("."))
    table = Table(title=f"{len(files)} record files in {path}", show_header=False)
    for name, value in statistics.rows().items():
        table.add_row(name, value)
    console.print(table)
    for line in broken:
        console.print(f"broken: {line}", highlight=False, soft_wrap=True)
    if export is not None:
        write_text_atomically(export, "\n".join(texts))
        console.print(f"{statistics.games} games written to {export}", highlight=False)
    return 1 if broken else 0


def _texts(records: Sequence[GameRecord], suffix: str) -> Iterator[str]:
    for record in records:
        game = get_game(record.game)
        if suffix not in game.writers:
            raise unknown_name(f"record format of {game.spec.name}", suffix, game.writers)
        yield game.writers[suffix](with_search_comments(record))


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
