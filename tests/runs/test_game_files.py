"""Games in journals are found, become shards once, and are never there twice."""

from pathlib import Path

import numpy as np
import pytest

from zerogames import UserError
from zerogames.cli import main
from zerogames.data import GameRecord
from zerogames.data.packed_games import pack_games
from zerogames.data.shard import read_shard, write_shard
from zerogames.runs.game_files import compact_journals, game_files, read_games
from zerogames.runs.journal import Journal


def games(first: int, count: int) -> list[GameRecord]:
    return [
        GameRecord(
            game="connect4",
            actions=np.array([3, 3, 2, 2], np.int32),
            result=0.0,
            reason="stopped",
            seed=seed,
        )
        for seed in range(first, first + count)
    ]


def journal(path: Path, *batches: list[GameRecord]) -> None:
    writer = Journal(path)
    for batch in batches:
        writer.append([pack_games(batch).data])
    writer.close()


def seeds(folder: Path) -> list[int]:
    return [game.seed for path in game_files(folder) for game in read_games(path)[0]]


def test_games_of_journals_are_found_and_become_shards(tmp_path: Path) -> None:
    shards, set_aside = tmp_path / "shards", tmp_path / "set-aside"
    shards.mkdir()
    write_shard(shards / "0000-000000.parquet", games(0, 3))
    journal(shards / "0000-000001.journal", games(3, 2), games(5, 1))
    assert seeds(tmp_path) == [0, 1, 2, 3, 4, 5]
    notes = compact_journals(shards, set_aside=set_aside)
    assert [note.partition(" in ")[0] for note in notes] == ["3 games of a killed session are"]
    assert [path.name for path in sorted(shards.iterdir())] == [
        "0000-000000.parquet",
        "0000-000001.parquet",
    ]
    assert seeds(tmp_path) == [0, 1, 2, 3, 4, 5]
    assert compact_journals(shards, set_aside=set_aside) == []
    assert not set_aside.exists()


def test_a_journal_beside_its_shard_is_not_read_again(tmp_path: Path) -> None:
    """Its writer died between the shard and the end of the journal."""
    journal(tmp_path / "0000-000000.journal", games(0, 3))
    write_shard(tmp_path / "0000-000000.parquet", games(0, 3))
    assert seeds(tmp_path) == [0, 1, 2]
    assert compact_journals(tmp_path, set_aside=tmp_path / "aside") == []
    assert seeds(tmp_path) == [0, 1, 2]
    assert not list(tmp_path.glob("*.journal"))


def test_a_journal_that_becomes_a_shard_meanwhile_is_read_as_that(tmp_path: Path) -> None:
    journal(tmp_path / "0000-000000.journal", games(0, 3))
    (path,) = game_files(tmp_path)
    compact_journals(tmp_path, set_aside=tmp_path / "aside")
    assert [game.seed for game in read_games(path)[0]] == [0, 1, 2]


@pytest.mark.parametrize("size", [0, 5, 30])
def test_a_torn_end_is_no_damage(tmp_path: Path, size: int) -> None:
    path = tmp_path / "0000-000000.journal"
    journal(path, games(0, 3))
    end = path.stat().st_size
    journal(tmp_path / "other", games(3, 1))
    path.write_bytes(path.read_bytes() + (tmp_path / "other").read_bytes()[:size])
    assert path.stat().st_size == end + size
    assert read_games(path)[1] == ""
    assert len(compact_journals(tmp_path, set_aside=tmp_path / "aside")) == 1
    assert seeds(tmp_path) == [0, 1, 2]


def test_a_damaged_entry_is_named_and_the_file_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    path = shards / "0000-000000.journal"
    journal(path, games(0, 3), games(3, 2), games(5, 1))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    assert main(["info", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert f"broken: {path}: 1 damaged entry left out" in printed.replace("\n", "")
    notes = compact_journals(shards, set_aside=tmp_path / "set-aside")
    assert any("1 damaged entry left out" in note for note in notes)
    assert (tmp_path / "set-aside" / path.name).read_bytes() == content
    assert seeds(shards) == [0, 1, 2, 5]


def test_games_that_are_none_are_damage(tmp_path: Path) -> None:
    writer = Journal(tmp_path / "0000-000000.journal")
    writer.append([b"no games", pack_games(games(0, 1)).data])
    writer.close()
    records, problem = read_games(tmp_path / "0000-000000.journal")
    assert [record.seed for record in records] == [0]
    assert "1 damaged entry" in problem


def test_an_empty_journal_goes(tmp_path: Path) -> None:
    (tmp_path / "0000-000000.journal").touch()
    assert compact_journals(tmp_path, set_aside=tmp_path / "aside") == []
    assert not list(tmp_path.iterdir())


def test_a_damaged_shard_is_still_an_error(tmp_path: Path) -> None:
    path = tmp_path / "0000-000000.parquet"
    write_shard(path, games(0, 1))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(UserError, match="not a whole shard"):
        read_games(path)
    with pytest.raises(UserError):
        read_shard(path)
