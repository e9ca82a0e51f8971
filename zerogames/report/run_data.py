"""What a run's folder tells: settings, figures as they grew, ratings, and some of its games."""

import json
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

Line = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunData:
    """A run as far as its files can be read; whatever is missing is empty."""

    path: Path
    game: Game
    about: Line
    """`run.json`."""
    metrics: Sequence[Line]
    ratings: Sequence[Line]
    shards: Sequence[Path]
    """Oldest first."""
    problems: Sequence[str]
    """What could not be read."""


def read_run(path: Path) -> RunData:
    """Read a run's folder; raise `UserError` for one that is none."""
    if not path.is_dir():
        raise UserError(f"there is no run folder {path}; give the folder that a run wrote")
    problems: list[str] = []
    about = _read_about(path / "run.json")
    metrics = read_lines(path / "metrics.jsonl", problems)
    ratings = read_lines(path / "ratings.jsonl", problems)
    shards = _shards(path)
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


def read_lines(path: Path, problems: list[str]) -> list[Line]:
    """The whole lines of a file; a last one that is being written does not count as a problem."""
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"{path.name}: {error.strerror or error}")
        return []
    lines: list[Line] = []
    for number, text in enumerate(texts, start=1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if isinstance(line, dict):
            lines.append(line)
        elif number < len(texts):
            problems.append(f"{path.name}, line {number}: not a JSON object; left out")
    return lines


def number(line: Line, key: str) -> float | None:
    """A finite number under that name, or None."""
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def sample_games(run: RunData, count: int, problems: list[str]) -> list[tuple[Path, GameRecord]]:
    """Games spread over the run, one of a shard each; the newest last."""
    chosen: list[tuple[Path, GameRecord]] = []
    shards = list(run.shards)
    if not shards or count < 1:
        return chosen
    last = len(shards) - 1
    wanted = sorted({round(index * last / max(1, count - 1)) for index in range(count)})
    for index in wanted if count > 1 else [last]:
        try:
            records = read_shard(shards[index])
        except UserError as error:
            problems.append(str(error))
            continue
        played = [one for one in records if one.game == run.game.spec.identity and len(one.actions)]
        if played:
            chosen.append((shards[index], next(filter(_has_values, played), played[0])))
    return chosen


def _has_values(record: GameRecord) -> bool:
    """Whether the search of its moves was written down, so that there is more to show."""
    search = record.search
    return search is not None and bool(np.isfinite(search.values["root_q"]).any())


def _read_about(path: Path) -> Line:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: damaged ({error})") from None
    return about if isinstance(about, dict) else {}


def _shards(path: Path) -> list[Path]:
    folder = path / "shards" if (path / "shards").is_dir() else path
    return sorted(folder.glob(f"*{SUFFIX}"))


def _game_of(path: Path, about: Line, shards: Sequence[Path]) -> Game:
    identity = about.get("game")
    if not isinstance(identity, str) and shards:
        identity = next(iter(read_shard(shards[0]))).game
    if not isinstance(identity, str):
        raise UserError(f"{path}/run.json does not say which game is played")
    return get_game(identity)
