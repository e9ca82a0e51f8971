"""Finding and opening data files: archives, limits, long texts in bounded memory."""

import gzip
import io
import re
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from zerogames.data.files import DataFile, find_paths, open_path
from zerogames.data.problems import Problems
from zerogames.data.text_blocks import MAX_GAME_BYTES, cut_text
from zerogames.errors import UserError


def data_file(path: Path) -> DataFile:
    return DataFile(str(path), path.stat().st_size, lambda: path.open("rb"))


def add_member(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


@pytest.mark.parametrize("packing", ["tar", "tar.gz", "zip"])
def test_members_of_archives_are_files(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{packing}"
    if packing == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("folder/one.gz", gzip.compress(b"first"))
            archive.writestr("two", b"second")
    else:
        with tarfile.open(path, "w:gz" if packing == "tar.gz" else "w") as tar:
            add_member(tar, "folder/one.gz", gzip.compress(b"first"))
            add_member(tar, "two", b"second")
            device = tarfile.TarInfo("null")
            device.type = tarfile.CHRTYPE
            tar.addfile(device)
    problems = Problems()
    found = list(open_path(path, problems))
    assert [file.name.partition("!")[2] for file in found] == ["folder/one.gz", "two"]
    assert [file.read() for file in found] == [b"first", b"second"]
    assert [file.head(3) for file in found] == [b"fir", b"sec"]
    assert problems.count == 0


def test_hidden_and_unfinished_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"1")
    (tmp_path / ".b.tmp").write_bytes(b"1")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c").write_bytes(b"1")
    assert find_paths(tmp_path) == [tmp_path / "b"]


def test_limits_hold_before_memory_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)) * 64)
    tracemalloc.start()
    with pytest.raises(UserError, match="unpacks to more than 100000 bytes"):
        data_file(path).read(limit=100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20
    plain = tmp_path / "large"
    plain.write_bytes(bytes(200_000))
    with pytest.raises(UserError, match="at most 100000"):
        data_file(plain).read(limit=100_000)


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    problems = Problems()
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 not a zip")
    assert list(open_path(path, problems)) == []
    assert problems.count == 1
    assert problems.named[0][0] == str(path)


def test_long_texts_are_cut_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.gz"
    game = b"(begin " + b"x" * 500 + b")\n"
    path.write_bytes(gzip.compress(game * 60_000, 1))  # 30 MB
    boundary = re.compile(rb"\n(?=\(begin)")
    tracemalloc.start()
    games = total = 0
    for block in cut_text(data_file(path), boundary):
        assert block.first_game == games
        data = block.load()
        assert data.startswith(b"(begin")
        games += data.count(b"(begin")
        total += len(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (games, total) == (60_000, 60_000 * len(game))
    assert peak < 4 << 20


def test_text_without_games_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "endless.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 20), 1) * 40)
    with pytest.raises(UserError, match=f"no game begins within {MAX_GAME_BYTES}"):
        list(cut_text(data_file(path), re.compile(rb"\n(?=\()")))


def test_what_came_before_the_damage_is_given(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    packed = gzip.compress(b"(a 1)\n" * 200_000, 1)
    path.write_bytes(packed[: len(packed) // 2])
    blocks = cut_text(data_file(path), re.compile(rb"\n(?=\()"), block_bytes=1 << 16)
    found: list[bytes] = []
    with pytest.raises(UserError, match="damaged gzip"):
        found.extend(block.load() for block in blocks)
    assert b"".join(found).count(b"(a") > 50_000
