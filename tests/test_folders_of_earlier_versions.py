"""Folders written by version 0.1.0 open, and the same commands continue them.

`data/written_by_0.1.0` holds small ones of every kind, as that version left them.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WRITTEN = Path(__file__).parent / "data" / "written_by_0.1.0"
STOCKFISH = Path("/usr/games/stockfish")
needs_stockfish = pytest.mark.skipif(not STOCKFISH.exists(), reason="no /usr/games/stockfish")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of all of them."""
    return Path(shutil.copytree(WRITTEN, tmp_path / "runs"))


def zerogames(folder: Path, command: str) -> str:
    """Run a command in `folder`; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "zerogames", *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_selfplay_continues_with_its_settings_and_net(folder: Path) -> None:
    run = folder / "selfplay"
    net, first = (run / "net.safetensors").read_bytes(), run / "shards" / "0000-000000.parquet"
    before = first.read_bytes()
    zerogames(
        folder,
        "selfplay --game go:size=5 --games 2 --simulations 4 --lanes 1 "
        "--pool.parallel-games 2 --out selfplay",
    )
    assert (run / "net.safetensors").read_bytes() == net
    assert first.read_bytes() == before
    assert (run / "shards" / "0001-000000.parquet").exists()
    assert len(json.loads((run / "run.json").read_text())["sessions"]) == 2


def test_training_continues_from_its_checkpoint(folder: Path) -> None:
    run = folder / "train"
    before = lines(run / "metrics.jsonl")
    zerogames(folder, "train --out train --generations 3")
    after = lines(run / "metrics.jsonl")
    assert after[: len(before)] == before
    assert [line["generation"] for line in after] == [1, 2, 3]
    assert int(str(after[-1]["step"])) > int(str(before[-1]["step"]))


def test_pretraining_continues_from_its_checkpoint(folder: Path) -> None:
    before = lines(folder / "pretrain" / "metrics.jsonl")
    zerogames(
        folder,
        "pretrain --game go:size=5 --data selfplay/shards --steps 6 "
        "--net mobile.conv.avg.bin.1.8.16 --trainer.batch-size 16 --out pretrain",
    )
    after = lines(folder / "pretrain" / "metrics.jsonl")
    assert after[: len(before)] == before
    assert after[-1]["step"] == 6


def test_a_match_continues_after_its_last_game(folder: Path) -> None:
    games = folder / "match" / "games.jsonl"
    before = games.read_text()
    zerogames(folder, "match random mcts:5 --game go:size=5 --games 6 --out match")
    after = games.read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == 6


@needs_stockfish
def test_labels_continue_after_their_last_chunk(folder: Path) -> None:
    first = folder / "labels" / "chunks" / "000000.zgd"
    before, written_at = first.read_bytes(), first.stat().st_mtime_ns
    for unfinished in ("chunks/000001.zgd", "training.zgd", "validation.zgd"):
        (folder / "labels" / unfinished).unlink()
    zerogames(
        folder,
        "nnue data labels --pgn games.pgn --games 4 --samples-per-game 3 "
        "--first-ply 4 --depth 1 --chunk 2",
    )
    assert first.read_bytes() == before
    assert first.stat().st_mtime_ns == written_at
    assert (folder / "labels" / "chunks" / "000001.zgd").exists()
    assert (folder / "labels" / "training.zgd").exists()


def test_nnue_training_continues_from_its_checkpoint(folder: Path) -> None:
    output = zerogames(
        folder,
        "nnue train labels nnue --m 8 --o 4 --p 4 --epochs 2 --batch 8 --threads 1",
    )
    assert "epoch 2/2" in output
    assert "epoch 1/2" not in output


@needs_stockfish
def test_lines_of_refute_are_not_made_again(folder: Path) -> None:
    shard = folder / "lines" / "000000.parquet"
    before, written_at = shard.read_bytes(), shard.stat().st_mtime_ns
    zerogames(
        folder,
        "refute lines --data games.pgn --games 4 --lines-per-game 2 --plies 4 "
        "--depth 1 --judge-depth 1 --chunk 2",
    )
    assert shard.read_bytes() == before
    assert shard.stat().st_mtime_ns == written_at


@pytest.mark.parametrize("net", ["selfplay", "train", "pretrain"])
def test_their_nets_are_described(folder: Path, net: str) -> None:
    assert "mobile.conv.avg.bin.1.8.16" in zerogames(folder, f"info {net}/net.safetensors")


@pytest.mark.parametrize("run", ["train", "pretrain"])
def test_their_reports_are_written(folder: Path, run: str) -> None:
    zerogames(folder, f"report {run}")
    assert list((folder / run).glob("*.html"))
