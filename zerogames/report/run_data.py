"""The data of a run's folder: settings, metrics over time, ratings, and some of its games."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zerogames.data.record import GameRecord
from zerogames.data.shard import SUFFIX, read_shard
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.registry import get_game
from zerogames.runs.folder import RunPaths, read_run
from zerogames.runs.metrics_log import read_lines

Line = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunData:
    """A run as far as its files can be read; what is missing is empty."""

    path: Path
    game: Game
    about: Line
    """`run.json`."""
    metrics: Sequence[Line]
    ratings: Sequence[Line]
    shards: Sequence[Path]
    """Oldest first."""
    problems: Sequence[str]
    """Sentences about what could not be read."""


def read_run_data(path: Path) -> RunData:
    """Read a run's folder; raise `UserError` if it is none."""
    if not path.is_dir():
        raise UserError(f"there is no run folder {path}; give the folder that a run wrote")
    problems: list[str] = []
    paths = RunPaths(path)
    about = read_run(path) or {}
    metrics = read_lines(paths.metrics, problems)
    ratings = read_lines(paths.ratings, problems)
    folder = paths.shards if paths.shards.is_dir() else path
    shards = sorted(folder.glob(f"*{SUFFIX}"))
    if not (about or metrics or ratings or shards):
        raise UserError(f"{path} holds no run: no run.json, metrics, ratings or shards")
    return RunData(
        path=path,
        game=_game_of(path, about, shards),
        about=about,
        metrics=metrics,
        ratings=ratings,
        shards=shards,
        problems=problems,
    )


def number(line: Line, key: str) -> float | None:
    """A finite number under that name, or None."""
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def sample_games(run: RunData, count: int, problems: list[str]) -> list[tuple[Path, GameRecord]]:
    """Games spread over the run, one of a shard each; the newest last."""
    chosen: list[tuple[Path, GameRecord]] = []
    places = np.linspace(len(run.shards) - 1, 0, count if run.shards else 0)
    for shard in [run.shards[index] for index in sorted(set(places.round().astype(int)))]:
        try:
            records = read_shard(shard)
        except UserError as error:
            problems.append(str(error))
            continue
        played = [one for one in records if one.game == run.game.spec.identity and len(one.actions)]
        if played:
            chosen.append((shard, next(filter(_has_values, played), played[0])))
    return chosen


def _has_values(record: GameRecord) -> bool:
    """Whether the search of its moves was written down, so that there is more to show."""
    search = record.search
    return search is not None and bool(np.isfinite(search.values["root_q"]).any())


def _game_of(path: Path, about: Line, shards: Sequence[Path]) -> Game:
    identity = about.get("game")
    if not isinstance(identity, str) and shards:
        identity = next(iter(read_shard(shards[0]))).game
    if not isinstance(identity, str):
        raise UserError(f"{path}/run.json does not say which game is played")
    return get_game(identity)
