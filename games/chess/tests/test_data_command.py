"""`zerogames data`: inspect, stats and convert."""

import gzip
import json
from pathlib import Path

import pytest

from zerogames.cli import main
from zerogames.data.shard import read_shard
from zerogames.data.sources import Source
from zerogames.registry import get_game

DATA = Path(__file__).parent / "data"
PGN = b"""[Event "One"]
[Result "0-1"]

1. f3 {+0.1/3} e5 2. g4 Qh4# 0-1

[Event "Two"]
[Result "1-0"]
[Variant "Chess960"]
[FEN "nrkbbqrn/pppppppp/8/8/8/8/PPPPPPPP/NRKBBQRN w GBgb - 0 1"]

1. e4 e5 1-0

[Event "Broken"]
[Result "1-0"]

1. e4 e4 1-0

[Event "One again"]
[Result "0-1"]

1. f3 e5 2. g4 Qh4# 0-1

[Event "No result"]
[Result "*"]

1. d4 *
"""


@pytest.fixture
def pgn(tmp_path: Path) -> Path:
    path = tmp_path / "games.pgn"
    path.write_bytes(PGN)
    return path


def test_inspect_says_what_it_is_and_names_what_is_broken(
    pgn: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "inspect", str(pgn)]) == 0
    out = capsys.readouterr().out
    assert "PGN (1)" in out
    assert "4 games" in out
    assert "game 3" in out
    assert "'e4' is not legal" in out


def test_stats_count(pgn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "stats", str(pgn), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["games"], found["positions"], found["duplicates"]) == (4, 11, 1)
    assert found["results"] == {"loss": 2, "win": 1, "unknown": 1}
    assert found["problems"] == 1
    assert main(["data", "stats", str(DATA)]) == 0
    assert "Lc0 V6" in capsys.readouterr().out


def test_pgn_becomes_chunks_that_train_the_same(
    pgn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "chunks"
    assert main(["data", "convert", str(pgn), "--to", "lc0", "--out", str(out)]) == 0
    assert "3 games in 3 files, 2 problems" in capsys.readouterr().out
    names = [path.name for path in sorted(out.iterdir())]
    assert names == ["game_000000.gz", "game_000001.gz", "game_000002.gz"]
    assert len(gzip.decompress((out / names[0]).read_bytes())) == 4 * 8356
    game = get_game("chess")
    chunks = list(Source([out], game).games())
    assert [chunk.result for chunk in chunks] == [-1, 1, -1]
    assert chunks[0].record().actions.tolist() == chunks[2].record().actions.tolist()
    assert main(["data", "convert", str(pgn), "--out", str(out)]) == 2
    assert "not an empty folder" in capsys.readouterr().err


def test_chunks_become_shards_and_back(tmp_path: Path) -> None:
    shards, chunks = tmp_path / "shards", tmp_path / "chunks"
    assert main(["data", "convert", str(DATA), "--out", str(shards), "--games-per-shard", "1"]) == 0
    paths = sorted(shards.iterdir())
    assert len(paths) == 2
    assert all(len(read_shard(path)) == 1 for path in paths)
    assert main(["data", "convert", str(shards), "--to", "lc0", "--out", str(chunks)]) == 0
    for before, after in zip(sorted(DATA.glob("*.gz")), sorted(chunks.iterdir()), strict=True):
        old, new = (gzip.decompress(path.read_bytes()) for path in (before, after))
        assert len(old) == len(new)
        assert old[:8340] == new[:8340]


def test_mistakes_are_one_line(
    pgn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, reason in (
        (["inspect", str(tmp_path / "none")], "no such file"),
        (["convert", str(pgn), "--to", "lc1", "--out", str(tmp_path / "x")], "did you mean 'lc0'"),
        (["inspect", str(pgn), "--on-problem", "stop"], "game 3"),
        (["inspect", str(pgn), "--game", "go"], "no go data here"),
    ):
        assert main(["data", *arguments]) == 2
        error = capsys.readouterr().err
        assert reason in error
        assert error.count("\n") == 1
    (tmp_path / "empty").mkdir()
    assert main(["data", "inspect", str(tmp_path / "empty")]) == 2


def test_the_example_of_the_documentation_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).resolve().parents[3]
    monkeypatch.chdir(root)
    code = (root / "docs" / "data.md").read_text().split("```python\n")[1].split("```")[0]
    exec(compile(code, "docs/data.md", "exec"), {})
    assert "4 files: Lc0 chunks (2)" in capsys.readouterr().out
