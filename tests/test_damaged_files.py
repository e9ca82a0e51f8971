"""Damaged files and folders that refuse: one line for the user, never another error."""

import contextlib
import gzip
import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from zerogames_chess.lc0.network import read_lc0
from zerogames_selfplay.loop.rating import RatingBook

from zerogames.cache import cache_folder, cached_file
from zerogames.cli import main
from zerogames.data.files import open_path
from zerogames.data.problems import Problems
from zerogames.errors import UserError
from zerogames.registry import get_game
from zerogames.testing import check_game


def make_archive(kind: str) -> bytes:
    packed = io.BytesIO()
    members = {f"folder/{number}.pgn": b"[Event]\n1. e4 e5 *\n" * 50 for number in range(4)}
    if kind.startswith("zip"):
        methods = {"": 0, "-deflate": 8, "-bzip2": 12, "-lzma": 14}
        with zipfile.ZipFile(packed, "w", methods[kind.removeprefix("zip")]) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(fileobj=packed, mode="w:gz" if kind == "tar.gz" else "w") as tar:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def mutate(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        # Where the numbers of zip and tar are: in the last bytes and in the first.
        end = rng.choice([len(changed), 512, 200])
        place = rng.choice([rng.randrange(end), len(changed) - 1 - rng.randrange(end)])
        changed[max(0, place) % len(changed)] = rng.choice(
            [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)]
        )
    return bytes(changed[: rng.randint(1, len(changed))] if rng.random() < 0.1 else changed)


@pytest.mark.parametrize("kind", ["zip", "zip-deflate", "zip-bzip2", "zip-lzma", "tar", "tar.gz"])
def test_damaged_archives_are_problems(kind: str, tmp_path: Path) -> None:
    whole, rng = make_archive(kind), random.Random(1)
    path = tmp_path / "games"
    for _ in range(400):
        path.write_bytes(mutate(whole, rng))
        with contextlib.suppress(UserError):
            for file in open_path(path, Problems()):
                file.head()
                file.read()


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    made = []

    def write(path: Path) -> None:
        made.append(path)
        path.write_text("net")

    assert cached_file("net", write).read_text() == "net"
    assert cached_file("net", write).read_text() == "net"
    assert len(made) == 1
    assert cache_folder().is_dir()
    err = capsys.readouterr().err
    assert err.startswith("warning: the cache ")
    assert err.count("\n") == 1


def test_a_bomb_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.pb.gz"
    bomb.write_bytes(gzip.compress(b"\0" * (1 << 27), compresslevel=9))
    with pytest.raises(UserError, match="unpacks to more than"):
        read_lc0(bomb)


def test_a_text_is_no_weights_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = tmp_path / "weights.pb.gz"
    weights.write_text("hello\n")
    assert main(["import", str(weights)]) == 2
    assert "not an Lc0 weights file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "play --net",
        "uci --net",
        "uci --nnue",
        "gtp --net",
        "import",
        "export",
        "train --out out --net",
        "selfplay --out out --net",
    ],
)
def test_a_folder_is_no_net(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert main([*command.split(), str(tmp_path / "folder")]) == 2
    err = capsys.readouterr().err
    assert "is a folder" in err
    assert err.count("\n") == 1


def test_a_rating_of_no_games_is_refused() -> None:
    line = {"step": 1, "results": [{"opponent": "random", "pairs": [0] * 6}]}
    line["results"][0] |= {"wins": 1, "draws": -2, "losses": 1}  # type: ignore[index]
    with pytest.raises(ValueError, match="whole numbers"):
        RatingBook(reference="random").add_line(line)


def test_a_game_without_symmetries_is_told_so() -> None:
    game = get_game("connect4")

    class WithoutSymmetries(type(game)):  # type: ignore[misc]
        pass

    other = WithoutSymmetries.__new__(WithoutSymmetries)
    other.__dict__.update(game.__dict__, symmetries=())
    with pytest.raises(AssertionError, match="no symmetries"):
        check_game(other)
