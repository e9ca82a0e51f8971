"""Lc0 chunks: all versions, against a plain decoder; hostile files; the way back."""

import gzip
import io
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zerogames_chess import _data
from zerogames_chess.data.chunks import write_chunk

from zerogames.data.files import DataFile
from zerogames.data.sample import SampleBatch, unpack
from zerogames.data.sources import Source
from zerogames.data.split import Selection
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.errors import UserError
from zerogames.registry import get_game

DATA = Path(__file__).parent / "data"
CHESS = get_game("chess")
SIZES = {3: 8276, 4: 8292, 5: 8308, 6: 8356, 7: 8396}


def records(path: Path) -> list[bytes]:
    data = gzip.decompress(path.read_bytes())
    return [data[i : i + SIZES[6]] for i in range(0, len(data), SIZES[6])]


@pytest.fixture(scope="module")
def v6() -> list[bytes]:
    return records(DATA / "game_004.gz")


def downgrade(record: bytes, version: int) -> bytes:
    """What an older or newer writer would have written for a V6 record."""
    if version == 7:
        return struct.pack("<I", 7) + record[4:] + bytes(40)
    if version == 6:
        return record
    q = struct.unpack_from("<f", record, 8308)[0]
    result = struct.pack("<b", round(q))
    head = record[8:8279] + result
    if version == 5:
        return struct.pack("<II", 5, 1) + head + record[8280:8308]
    if version == 4:
        return struct.pack("<I", 4) + head + record[8280:8296]
    policy = np.frombuffer(record, "<f4", 1858, 8)
    return struct.pack("<I", 3) + np.maximum(policy, 0).tobytes() + head[7432:]


def plain_batch(rows: list[bytes]) -> SampleBatch:
    """A slow decoder written from the format's description, for V6 records."""
    batch = SampleBatch.empty(len(rows), (112, 8, 8), 1858)

    def wdl(q: float, d: float) -> list[float]:
        return [(1 - d + q) / 2, d, (1 - d - q) / 2]

    for i, row in enumerate(rows):
        policy = np.frombuffer(row, "<f4", 1858, 8)
        batch.policy[i] = np.maximum(policy, 0)
        batch.legal[i] = policy >= 0
        bits = np.unpackbits(np.frombuffer(row, np.uint8, 832, 7440))
        batch.planes[i, :104] = bits.reshape(104, 8, 8)
        for plane, byte in enumerate(row[8272:8278]):
            batch.planes[i, 104 + plane] = byte
        batch.planes[i, 110], batch.planes[i, 111] = 0, 1
        _, best_q, _, best_d, _, _, left, q, d = struct.unpack_from("<9f", row, 8280)
        batch.result[i], batch.search[i] = wdl(q, d), wdl(best_q, best_d)
        batch.moves_left[i], batch.weights[i] = left, 1
    return batch


def stream(source: Source, **options: object) -> SampleBatch:
    settings = StreamOptions(shuffle_buffer=0, batch_size=4096, **options)  # type: ignore[arg-type]
    with SampleStream(source, None, settings) as batches:
        return next(batches).copy()


def write(path: Path, rows: list[bytes]) -> Path:
    path.write_bytes(gzip.compress(b"".join(rows), 1))
    return path


def assert_same(one: SampleBatch, other: SampleBatch, *names: str) -> None:
    for name in names or ("planes", "policy", "legal", "result", "search", "moves_left"):
        assert np.allclose(getattr(one, name), getattr(other, name), atol=1e-6), name


def test_batches_are_those_of_the_plain_decoder() -> None:
    for name in ("game_004.gz", "game_009.gz"):
        assert_same(stream(Source([DATA / name], CHESS)), plain_batch(records(DATA / name)))


def test_positions_are_those_of_the_moves() -> None:
    for line in (DATA / "moves.txt").read_text().splitlines():
        name, _, _, _, _, *moves = line.split()
        batch = stream(Source([DATA / name], CHESS))
        state = CHESS.initial_state()
        for row, move in enumerate(moves):
            assert (batch.planes[row] == state.observe("lc0-classic:fill=no")).all()
            assert np.flatnonzero(batch.legal[row]).tolist() == state.legal_actions().tolist()
            # The moves are written king takes rook.
            castling = {"e1h1": "e1g1", "e1a1": "e1c1", "e8h8": "e8g8", "e8a8": "e8c8"}
            king = "k" in str(state).split()[0] and move in castling
            try:
                action = CHESS.parse_action(state, move)
            except UserError:
                assert king
                action = CHESS.parse_action(state, castling[move])
            state = state.play(action)
        assert len(batch) == len(moves)


@pytest.mark.parametrize("version", [3, 4, 5, 7])
def test_other_versions_hold_the_same_positions(
    version: int, v6: list[bytes], tmp_path: Path
) -> None:
    path = write(tmp_path / "a.gz", [downgrade(row, version) for row in v6])
    batch, wanted = stream(Source([path], CHESS)), plain_batch(v6)
    assert_same(batch, wanted, "planes", "policy", "legal", "result")
    if version == 3:  # no search values: the result stands for them
        assert_same(batch, SampleBatch(**{**vars(wanted), "search": wanted.result}), "search")
    else:
        assert_same(batch, wanted, "search")
    if version >= 5:
        assert_same(batch, wanted, "moves_left")
    else:
        assert (batch.moves_left == -1).all()


def test_old_records_keep_their_number_of_plies(v6: list[bytes], tmp_path: Path) -> None:
    rows = [bytearray(downgrade(row, 4)) for row in v6]
    for number, row in enumerate(rows):
        row[8274] = number + 1
    path = write(tmp_path / "a.gz", [bytes(row) for row in rows])
    assert stream(Source([path], CHESS)).moves_left.tolist() == list(range(1, len(v6) + 1))


def test_one_folder_may_mix_versions_tars_and_other_files(v6: list[bytes], tmp_path: Path) -> None:
    for version in SIZES:
        write(tmp_path / f"v{version}.gz", [downgrade(row, version) for row in v6])
    with tarfile.open(tmp_path / "many.tar", "w") as tar:
        for name, data in (
            ("training.1.gz", gzip.compress(v6[0])),
            ("training.2", b"".join(v6[:2])),  # without .gz: not packed
        ):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("../../etc/link.gz")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
    (tmp_path / "LICENSE").write_text("free")
    source = Source([tmp_path], CHESS)
    kinds = [(game.kind, game.num_positions) for game in source.games()]
    count = len(v6)
    assert sorted(kinds) == sorted(
        [(f"Lc0 V{v}", count) for v in SIZES] + [("Lc0 V6", 1), ("Lc0 V6", 2)]
    )
    assert source.problems.count == 0
    assert source.ignored.total() == 1


def test_merged_games_are_told_apart(v6: list[bytes], tmp_path: Path) -> None:
    other = records(DATA / "game_009.gz")
    path = write(tmp_path / "merged.gz", [*v6, *other])
    games = list(Source([path], CHESS).games())
    assert [game.num_positions for game in games] == [len(v6), len(other)]
    alone = next(Source([DATA / "game_009.gz"], CHESS).games())
    assert games[1].key == alone.key != games[0].key


def spoil(row: bytes, offset: int, data: bytes) -> bytes:
    return row[:offset] + data + row[offset + len(data) :]


NAN = struct.pack("<f", float("nan"))
SPOILED = {
    "sum to 1": (8, struct.pack("<f", 0.7)),
    "policy is not": (8 + 4 * 1857, NAN),
    "input format 3 (canonical)": (4, struct.pack("<I", 3)),
    "input format 132": (4, struct.pack("<I", 132)),
    "not one king": (7440 + 8 * 5, bytes(8)),
    "on one square": (7440, bytes([0, 255, 255, 0, 0, 0, 0, 0]) * 2),
    "on rank 1 or 8": (7440, bytes([0, 0, 0, 0, 0, 0, 0, 8])),
    "repetition plane": (7440 + 8 * 12, b"\1"),
    "castling byte": (8272, b"\2"),
    "side to move": (8276, b"\7"),
    "best_q": (8284, NAN),
    "root_q": (8280, struct.pack("<f", 1.5)),
    "plies_left": (8304, NAN),
    "the result": (8308, struct.pack("<f", 2.0)),
    "above 1857": (8344, b"\xff\xff"),
    "versions are mixed": (0, struct.pack("<I", 7)),
}


@pytest.mark.parametrize("reason", SPOILED)
def test_a_wrong_record_is_named_and_its_file_skipped(
    reason: str, v6: list[bytes], tmp_path: Path
) -> None:
    offset, data = SPOILED[reason]
    write(tmp_path / "bad.gz", [*v6[:2], spoil(v6[2], offset, data)])
    write(tmp_path / "good.gz", v6)
    source = Source([tmp_path], CHESS)
    assert sum(game.num_positions for game in source.games()) == len(v6)
    [(name, why)] = source.problems.named
    assert name.endswith("bad.gz")
    assert reason in why
    assert "record 3" in why
    with pytest.raises(UserError, match=r"bad\.gz"):
        list(Source([tmp_path], CHESS, on_problem="stop").games())


def test_truncated_renamed_and_hostile_files_are_named(v6: list[bytes], tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(v6))
    files = {
        "cut.gz": packed[: len(packed) // 2],
        "short.gz": gzip.compress(b"".join(v6)[:-1]),
        "crc.gz": packed[:-8] + bytes(8),
        "text.gz": gzip.compress(b"hello there"),
        "renamed.gz": b"\xff\xd8 a picture",
        "empty.gz": b"",
        "bomb.gz": gzip.compress(v6[0][:4] + bytes(1 << 20)) + gzip.compress(bytes(1 << 20)) * 300,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    write(tmp_path / "good.gz", v6)
    source = Source([tmp_path], CHESS)
    assert sum(game.num_positions for game in source.games()) == len(v6)
    assert sorted(Path(name).name for name, _ in source.problems.named) == sorted(files)
    reasons = dict((Path(name).name, why) for name, why in source.problems.named)
    assert "unpacks to more than" in reasons["bomb.gz"]
    assert "truncated gzip" in reasons["cut.gz"]


def test_a_truncated_tar_keeps_its_whole_members(v6: list[bytes], tmp_path: Path) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for number in range(3):
            data = gzip.compress(v6[number])
            info = tarfile.TarInfo(f"training.{number}.gz")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    cut = stream.getvalue()[: 512 + 1024 + 700]
    (tmp_path / "cut.tar").write_bytes(cut)
    source = Source([tmp_path / "cut.tar"], CHESS)
    games = list(source.games())
    assert len(games) + source.problems.count >= 2
    assert source.problems.count >= 1


@given(st.data())
def test_no_change_of_bytes_harms_the_reader(data: st.DataObject) -> None:
    rows = records(DATA / "game_009.gz")[:3]
    raw = bytearray(b"".join(rows))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(raw) - 1))
        raw[position] = data.draw(st.integers(0, 255))
    length = data.draw(st.sampled_from([len(raw), len(raw) - 1, 100, 4, 0]))
    try:
        chunk = _data.Chunk(bytes(raw[:length]))
        for game in range(chunk.num_games):
            chosen = np.arange(chunk.num_positions(game), dtype=np.int32)
            batch = SampleBatch.empty(len(chosen), (112, 8, 8), 1858)
            unpack(chunk.samples(game, chosen), batch)
            for name in ("planes", "policy", "result", "search", "moves_left"):
                assert np.isfinite(getattr(batch, name)).all()
            assert np.allclose(batch.policy.sum(1), 1, atol=0.02)
            chunk.start(game)
    except UserError:
        pass


def test_the_way_through_a_record_and_back_keeps_every_byte(shared: Path) -> None:
    folder = shared / "chess" / "lc0-v6-chunks"
    for path in [*sorted(folder.glob("*.gz"))[:12], DATA / "game_004.gz"]:
        raw = gzip.decompress(path.read_bytes())
        [game] = Source([path], CHESS).games()
        again = write_chunk(game.record())
        assert len(again) == len(raw)
        for start in range(0, len(raw), SIZES[6]):
            old, new = raw[start : start + SIZES[6]], again[start : start + SIZES[6]]
            # Among equally visited moves the engine's best is not known from the visits.
            best = [struct.unpack_from("<H", row, 8346)[0] for row in (old, new)]
            policy = np.frombuffer(old, "<f4", 1858, 8)
            assert best[0] == best[1] or policy[best[1]] == policy.max()
            assert old[:8346] == new[:8346]
            assert old[8348:] == new[8348:]


def test_moves_are_recovered(shared: Path) -> None:
    folder = shared / "chess" / "lc0-v6-chunks"
    lines = (folder / "moves.txt").read_text().splitlines()
    results = {"whitewon": 1.0, "blackwon": -1.0, "draw": 0.0}
    for line in lines:
        name, count, result, plies, _, *moves = line.split()
        [game] = Source([folder / name], CHESS).games()
        assert game.num_positions == int(count.partition("=")[2])
        assert game.result == results[result.partition("=")[2]]
        record = game.record()
        assert len(record.actions) == int(plies.partition("=")[2]) == len(moves)
        assert record.start == ""


def test_old_and_cut_games_are_refused_by_name(v6: list[bytes], tmp_path: Path) -> None:
    old = write(tmp_path / "old.gz", [downgrade(row, 5) for row in v6])
    [game] = Source([old], CHESS).games()
    with pytest.raises(UserError, match="do not name the moves"):
        game.record()
    [game] = Source([write(tmp_path / "cut.gz", v6[5:])], CHESS).games()
    with pytest.raises(UserError, match="beginning is missing"):
        game.record()


def test_check_vectors_of_the_planes() -> None:
    first = records(DATA / "game_004.gz")[0]
    assert first[7440:7448].hex() == "00ff000000000000"
    assert first[7448:7456].hex() == "4200000000000000"


def test_shuffled_streams_of_a_part_are_the_same_each_time() -> None:
    def run(workers: int) -> Iterator[bytes]:
        source = Source([DATA], CHESS)
        selection = Selection(part="all", keep=0.5, seed=4)
        options = StreamOptions(batch_size=16, shuffle_buffer=40, workers=workers, seed=9)
        with SampleStream(source, selection, options) as batches:
            for batch in batches:
                yield batch.planes.tobytes() + batch.policy.tobytes()

    assert list(run(1)) == list(run(2))


def test_files_may_be_read_from_any_thread_and_often() -> None:
    path = DATA / "game_004.gz"
    file = DataFile(str(path), path.stat().st_size, lambda: path.open("rb"))
    with file.stream() as whole:
        assert file.read() == file.read() == whole.read()
    assert file.head(10) == file.read()[:10]
