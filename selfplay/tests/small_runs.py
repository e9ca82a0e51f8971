"""Training runs that take a second, and what must be true of their folders."""

import dataclasses
import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from zerogames_selfplay.commands import train as command
from zerogames_selfplay.loop.run_state import steps_in
from zerogames_selfplay.loop.settings import RatingSettings, TrainSettings

from zerogames.data.shard import read_shard, shard_paths
from zerogames.runs.metrics_log import read_lines
from zerogames.search.settings import PoolSettings, search_preset
from zerogames.train import TrainerSettings, WindowSettings


def tiny(out: Path, **changes: object) -> TrainSettings:
    """Two rounds of Connect Four with a toy net."""
    settings = TrainSettings(
        game="connect4",
        net="res_3x3_1x8",
        out=out,
        generations=2,
        lanes=1,
        generation_positions=128,
        first_positions=128,
        search=search_preset("gumbel", simulations=8, cache_mebibytes=1),
        pool=PoolSettings(parallel_games=16),
        trainer=TrainerSettings(batch_size=32, warmup_steps=4, threads=1, schedule="cosine"),
        window=WindowSettings(min_positions=200),
        rating=RatingSettings(share=0.0),
    )
    return dataclasses.replace(settings, **changes)  # type: ignore[arg-type]


def train(settings: TrainSettings) -> str:
    """Run the command to the end; what it printed."""
    text = StringIO()
    assert command.train(settings, Console(file=text, width=200)) == 0
    return text.getvalue()


def check_sums(out: Path, settings: TrainSettings) -> None:
    """What the checkpoint, the metrics and the shards say of each other."""
    step = steps_in(out / "checkpoints")[-1]
    state = json.loads((out / f"checkpoints/step-{step:08d}/trainer.json").read_text())["state"]
    ledger, window = state["extra"]["ledger"], state["extra"]["window"]
    paths = shard_paths(out / "shards")
    games = [game for path in paths for game in read_shard(path)]
    positions = sum(len(game.actions) for game in games)
    batch = settings.trainer.batch_size
    # No shard is lost, none is there twice, each was taken in whole.
    assert sorted(ledger["shards"]) == [path.name for path in paths]
    assert window["total_positions"] == positions
    assert window["total_games"] == len(games)
    # Every step was made on one batch, and every position allowed so many samples.
    assert state["step"] == window["draws"] == step
    assert state["samples"] == step * batch
    assert ledger["due_samples"] + state["samples"] == pytest.approx(positions * settings.reuse)
    lines = read_lines(out / "metrics.jsonl")
    assert [line["step"] for line in lines] == sorted({line["step"] for line in lines})
    assert lines[-1]["generation"] == ledger["generation"]
