import contextlib
import os
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zerogames
from zerogames.atomic import temporary_path
from zerogames.data import SEARCH_KINDS, VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.data.checksum import Checksum
from zerogames.data.packed_games import pack_games, unpack_games
from zerogames.data.shard import read_shard, shard_paths, write_packed_shard, write_shard
from zerogames.errors import UserError


def random_record(rng: np.random.Generator, *, searched: bool = True) -> GameRecord:
    game = zerogames.get_game("connect4")
    state, actions, sizes = game.initial_state(), [], []
    policy: list[int] = []
    while state.result is None:
        legal = state.legal_actions()
        policy += legal.tolist()
        sizes.append(len(legal))
        actions.append(int(rng.choice(legal)))
        state = state.play(actions[-1])
    plies, entries = len(actions), len(policy)
    search = SearchColumns(
        policy_offsets=np.concatenate([[0], np.cumsum(sizes)]),
        policy_actions=np.array(policy, np.int32),
        policy_visits=rng.integers(0, 800, entries).astype(np.int32),
        policy_targets=rng.random(entries).astype(np.float32),
        values={name: rng.normal(size=plies).astype(np.float32) for name in VALUE_COLUMNS},
        surprise=np.where(rng.random(plies) < 0.2, np.nan, 1.0).astype(np.float32),
        kinds=rng.integers(0, len(SEARCH_KINDS), plies).astype(np.uint8),
    )
    return GameRecord(
        game="connect4",
        actions=np.array(actions, np.int32),
        result=state.result,
        reason=state.end_reason,
        seed=int(rng.integers(0, 2**63)) * 2,
        net="abc",
        search=search if searched else None,
    )


def assert_equal(first: GameRecord, second: GameRecord) -> None:
    for name in ("game", "start", "result", "reason", "seed", "net"):
        assert getattr(first, name) == getattr(second, name)
    assert np.array_equal(first.actions, second.actions)
    assert (first.search is None) == (second.search is None)
    if first.search and second.search:
        for name in ("policy_offsets", "policy_actions", "policy_visits", "policy_targets"):
            assert np.array_equal(getattr(first.search, name), getattr(second.search, name))
        assert np.array_equal(first.search.kinds, second.search.kinds)
        assert np.array_equal(first.search.surprise, second.search.surprise, equal_nan=True)
        for name in VALUE_COLUMNS:
            assert np.array_equal(first.search.values[name], second.search.values[name])


@pytest.fixture
def records() -> list[GameRecord]:
    rng = np.random.default_rng(1)
    return [random_record(rng, searched=index % 3 != 2) for index in range(300)]


def test_a_shard_reads_back_exactly(tmp_path: Path, records: list[GameRecord]) -> None:
    path = tmp_path / "a.parquet"
    write_shard(path, records)
    again = list(read_shard(path))
    assert len(again) == len(records)
    for first, second in zip(records, again, strict=True):
        assert_equal(first, second)
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_a_shard_is_plain_parquet_for_other_tools(
    tmp_path: Path, records: list[GameRecord]
) -> None:
    write_shard(tmp_path / "a.parquet", records)
    table = pq.read_table(tmp_path / "a.parquet", columns=["result", "actions"])
    assert table["result"].to_pylist() == [record.result for record in records]


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_shard_is_named_never_half_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "damaged.parquet"
    rng = np.random.default_rng(2)
    record = random_record(rng)
    write_shard(path, [record])
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
        path.write_bytes(content)
        with pytest.raises(zerogames.UserError, match=r"damaged\.parquet"):
            list(read_shard(path))
    else:
        where = data.draw(st.integers(0, len(content) - 1))
        content[where] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(content)
        try:
            (again,) = read_shard(path)
        except zerogames.UserError:
            return
        assert_equal(again, record)  # a bit that nothing depends on


def test_other_files_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), other)
    with pytest.raises(zerogames.UserError, match="no game records"):
        list(read_shard(other))
    with pytest.raises(zerogames.UserError, match="no such file"):
        list(read_shard(tmp_path / "missing.parquet"))


def test_a_failed_write_leaves_nothing(tmp_path: Path, records: list[GameRecord]) -> None:
    wrong = GameRecord(
        game="connect4", actions=records[0].actions[:-1], result=None, search=records[0].search
    )
    with pytest.raises(zerogames.UserError, match="do not fit"):
        write_shard(tmp_path / "a.parquet", [wrong])
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, records: list[GameRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    write_shard(path, records[:1])
    before = path.read_bytes()
    temporary_path(tmp_path / "a.parquet").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"28|No space"):
        write_shard(path, records)
    assert path.read_bytes() == before
    assert shard_paths(tmp_path) == [path]


def test_a_shard_of_packed_parts_is_that_of_its_records(
    tmp_path: Path, records: list[GameRecord]
) -> None:
    write_shard(tmp_path / "whole.parquet", records)
    bounds = [0, 1, 50, 51, 290, 300]
    parts = [pack_games(records[first:last]) for first, last in pairwise(bounds)]
    write_packed_shard(tmp_path / "parts.parquet", parts)
    whole, again = (read_shard(tmp_path / f"{name}.parquet") for name in ("whole", "parts"))
    for first, second in zip(whole, again, strict=True):
        assert_equal(first, second)
    schemas = [pq.read_schema(tmp_path / f"{name}.parquet") for name in ("whole", "parts")]
    assert schemas[0].metadata == schemas[1].metadata
    assert sum(part.games for part in parts) == 300
    assert sum(part.positions for part in parts) == sum(len(one.actions) for one in records)


def test_packed_games_are_unpacked_exactly(records: list[GameRecord]) -> None:
    packed = pack_games(records)
    for first, second in zip(records, unpack_games(packed.data), strict=True):
        assert_equal(first, second)


def test_damaged_packed_games_are_an_error(records: list[GameRecord]) -> None:
    data = pack_games(records[:20]).data
    rng = np.random.default_rng(2)
    for size in rng.integers(0, len(data), 50):
        with pytest.raises(UserError):
            unpack_games(data[:size])
    for at in rng.integers(0, len(data), 200):  # Journals have checksums; this must not crash.
        with contextlib.suppress(UserError):
            unpack_games(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_checksums_of_parts_join_to_that_of_the_whole(first: bytes, second: bytes) -> None:
    joined = Checksum().followed_by(first).joined(Checksum().followed_by(second))
    assert joined == Checksum().followed_by(first + second)
    assert joined.crc == zlib.crc32(first + second)
