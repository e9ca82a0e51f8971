"""A small run of Connect Four on disk, as `zerogames train` writes it."""

import json
from pathlib import Path

from zerogames import get_game, load_net, play_games
from zerogames.data.shard import write_shard
from zerogames.nets import build_model, save_net
from zerogames.runs.folder import RUN_NAME, RunPaths
from zerogames.search.settings import PoolSettings, search_preset

STEPS = (0, 10, 20)


def write_small_run(path: Path) -> Path:
    """Write nets of three steps, four games, metrics and ratings."""
    game, paths = get_game("connect4"), RunPaths(path)
    for folder in (paths.nets, paths.shards):
        folder.mkdir(parents=True)
    for step in STEPS:
        save_net(paths.net_at(step), build_model(game.parse_net("res_3x3_1x8"), game, seed=step))
    games = play_games(
        load_net(paths.net_at(0)),
        4,
        search=search_preset("gumbel", simulations=8),
        pool=PoolSettings(parallel_games=4),
    )
    write_shard(paths.shards / "0000-000000.parquet", list(games))
    (path / RUN_NAME).write_text(json.dumps({"kind": "train", "game": "connect4"}))
    metrics = [
        {"step": step, "time_s": step, "loss": 3 - step / 100, "policy_loss": 2 - step / 100,
         "value_loss": 1.0, "samples": 600, "positions": 100, "games_per_h": 5}
        for step in range(24)
    ]  # fmt: skip
    paths.metrics.write_text("".join(json.dumps(line) + "\n" for line in metrics))
    rating = {"step": 20, "time_s": 9, "elo": 100.0, "low": 50.0, "high": 150.0}
    paths.ratings.write_text(json.dumps(rating) + "\n")
    return path
