"""Real games for tests: a few of our own beside this file, many in `../shared` if it is there."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from zerogames_go import read_sgf

from zerogames import get_game
from zerogames.data import GameRecord
from zerogames.game import State

HERE = Path(__file__).parent
_SHARED = HERE.parents[2].parent / "shared" / "data" / "go"


def shared_data(*parts: str) -> Path:
    """A file or folder of `../shared/data/go`; skips the test where there is none."""
    path = _SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no ../shared/data/go/{'/'.join(parts)} beside the repository")
    return path


def read_file(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def own_games() -> list[GameRecord]:
    return list(read_sgf((HERE / "data" / "games-9x9.sgf").read_bytes()))


def sgf_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.sgf*") if path.suffix in (".sgf", ".gz"))


def shared_games(*parts: str) -> Iterator[GameRecord]:
    """The games of a folder that are not broken."""
    for path in sgf_files(shared_data(*parts)):
        yield from read_sgf(read_file(path), on_error=lambda error: None)


def position(record: GameRecord, ply: int) -> State:
    """The state after some moves of a game."""
    game = get_game(record.game)
    state = record.start_state(game)
    for action in record.actions[:ply].tolist():
        state = state.play(action)
    return state


def middle_game(record: GameRecord, rng: np.random.Generator) -> State:
    """A random position from the second quarter to the last."""
    plies = len(record.actions)
    return position(record, int(rng.integers(plies // 4, plies)))
