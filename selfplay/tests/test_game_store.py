"""Games count when they are on disk, and are there once, whatever fails or dies."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from zerogames_selfplay import run_selfplay
from zerogames_selfplay.players.game_chunk import GameChunk
from zerogames_selfplay.players.game_store import GameStore

from zerogames.data import GameRecord
from zerogames.runs.game_files import game_files, read_games

LIVES = Path(__file__).parent / "killed_selfplay.py"


def chunk(first: int, count: int = 1) -> GameChunk:
    """Games of 20 positions."""
    return GameChunk.of(
        [
            GameRecord(game="connect4", actions=np.zeros(20, np.int32), result=1.0, seed=seed)
            for seed in range(first, first + count)
        ]
    )


def seeds(folder: Path) -> list[int]:
    return [game.seed for path in game_files(folder) for game in read_games(path)[0]]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """As on a full disk, writing more fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_game_counts_when_it_is_on_disk(tmp_path: Path) -> None:
    store = GameStore(tmp_path / "shards", "0000", positions=100)
    store.put(chunk(0))
    assert store.counts.games == 0
    store.sync()
    assert seeds(tmp_path) == [0]
    assert (store.counts.games, store.counts.positions) == (1, 20)
    store.put(chunk(1, 2))
    store.put(chunk(3))
    assert store.counts.games == 1
    store.sync()
    assert seeds(tmp_path) == [0, 1, 2, 3]
    assert store.counts.games == 4
    assert not store.shards
    store.put(chunk(4))
    store.sync()  # Enough for a shard.
    assert [path.name for path in store.shards] == ["0000-000000.parquet"]
    assert seeds(tmp_path) == [0, 1, 2, 3, 4]
    assert store.counts.games == 5
    store.put(chunk(5))
    store.sync()
    store.flush()
    store.flush()
    assert len(store.shards) == 2
    assert seeds(tmp_path) == [0, 1, 2, 3, 4, 5]
    assert not list(tmp_path.rglob("*.journal"))


def test_what_could_not_be_written_is_written_later_and_once(tmp_path: Path) -> None:
    store = GameStore(tmp_path, "0000", positions=1000)
    store.put(chunk(0))
    store.sync()
    store.put(chunk(1))
    with largest_file(3000):
        with pytest.raises(OSError, match="too large"):
            store.sync()
        assert store.counts.games == 1
        assert seeds(tmp_path) == [0]
        with pytest.raises(OSError, match="too large"):
            store.flush()
        assert store.counts.games == 1
        assert seeds(tmp_path) == [0]
    store.put(chunk(2))
    store.sync()
    assert store.counts.games == 3
    store.flush()
    assert seeds(tmp_path) == [0, 1, 2]


def test_no_game_goes_to_a_journal_whose_shard_may_be_there(tmp_path: Path) -> None:
    """A shard may have its name although writing it failed: its journal is not read any more."""
    store = GameStore(tmp_path, "0000", positions=1000)
    store.put(chunk(0))
    store.sync()
    with largest_file(100), pytest.raises(OSError, match="too large"):
        store.flush()
    store.put(chunk(1))
    store.sync()
    assert len(store.shards) == 1
    assert store.counts.games == 2
    assert seeds(tmp_path) == [0, 1]


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_selfplay_has_every_game_that_it_showed(tmp_path: Path, kills: int) -> None:
    out = tmp_path / "run"
    command = [sys.executable, str(LIVES), str(out), str(kills), "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["shown"] > 10 * kills
    before = set(seeds(out))
    sys.path.insert(0, str(LIVES.parent))
    import dataclasses

    from killed_selfplay import settings

    run = run_selfplay(dataclasses.replace(settings(out), forever=False, games=3))
    assert run.counts.games == 3
    after = seeds(out)
    assert before < set(after)
    assert len(after) == len(set(after)) == len(before) + 3
    assert not list(out.rglob("*.journal"))
    assert not list(out.rglob("*.tmp"))
