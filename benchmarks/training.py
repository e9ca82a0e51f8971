"""Training with the data pipeline against the same loop on a fixed batch.

The pipeline draws every batch from a replay window, whose background thread decodes, transforms and
batches, and lets the window move on by a shard whenever its positions have been used four times, as
a run does. Both loops take turns, so that other work on the machine meets both alike.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import torch
from measure import report

from zerogames.data.record import VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.data.shard import write_shard
from zerogames.game import Game
from zerogames.nets import build_model
from zerogames.registry import get_game
from zerogames.train import ReplayWindow, Trainer, TrainerSettings, WindowSettings

REUSE = 4
SHARD_POSITIONS = 8192
SEED = 1


def random_record(game: Game, rng: np.random.Generator) -> GameRecord:
    """A random game with the columns that self-play writes."""
    state, actions, policies = game.initial_state(), [], []
    while state.result is None and len(actions) < game.spec.max_plies:
        legal = state.legal_actions()
        policies.append(legal[:32])
        actions.append(int(rng.choice(legal)))
        state = state.play(actions[-1])
    plies, sizes = len(actions), [len(legal) for legal in policies]
    targets = [np.full(size, 1 / size, np.float32) for size in sizes]
    return GameRecord(
        game=game.spec.identity,
        actions=np.array(actions, np.int32),
        result=state.result or 0.0,
        search=SearchColumns(
            policy_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            policy_actions=np.concatenate(policies).astype(np.int32),
            policy_visits=np.ones(sum(sizes), np.int32),
            policy_targets=np.concatenate(targets),
            values={name: np.zeros(plies, np.float32) for name in VALUE_COLUMNS},
            surprise=np.full(plies, 0.5, np.float32),
            kinds=np.zeros(plies, np.uint8),
        ),
    )


def write_shards(game: Game, folder: Path, count: int) -> list[Path]:
    rng = np.random.default_rng(SEED)
    paths = []
    for number in range(count):
        records, positions = [], 0
        while positions < SHARD_POSITIONS:
            records.append(random_record(game, rng))
            positions += len(records[-1].actions)
        paths.append(folder / f"{number}.parquet")
        write_shard(paths[-1], records)
    return paths


def turns(window: ReplayWindow, paths: Iterator[Path], trainer: Trainer) -> Iterator[None]:
    """One step with the pipeline for each item."""
    used = 0
    while True:
        trainer.train_step(window.draw())
        used += window.settings.batch_size
        if used >= REUSE * SHARD_POSITIONS:
            window.add(next(paths))
            used = 0
        yield


def measure(identity: str, net: str, *, batch: int, steps: int, runs: int, shards: int) -> None:
    game = get_game(identity)
    trainer = Trainer(
        build_model(game.parse_net(net), game, seed=SEED),
        game,
        TrainerSettings(batch_size=batch, warmup_steps=0),
    )
    settings = WindowSettings(batch_size=batch, max_positions=shards * SHARD_POSITIONS)
    with tempfile.TemporaryDirectory() as folder:
        written = write_shards(game, Path(folder), shards)
        paths = cycle(written)
        with ReplayWindow(game, trainer.model.spec.encoding, settings, SEED) as window:
            for path in written:
                window.add(path)
            fixed = window.draw().copy()
            pipeline = turns(window, paths, trainer)
            rates: tuple[list[float], list[float]] = ([], [])
            for turn in range(2 * (runs + 1)):
                start = time.perf_counter()
                for _ in range(steps):
                    if turn % 2:
                        next(pipeline)
                    else:
                        trainer.train_step(fixed)
                if turn > 1:  # the first turns warm up
                    rates[turn % 2].append(steps * batch / (time.perf_counter() - start))
    report(
        f"training {net} of {identity} with the data pipeline, batch {batch}, "
        f"{torch.get_num_threads()} threads",
        sorted(rates[1]),
        unit="positions/s",
        seed=SEED,
        peer="the same loop on a fixed batch",
        peer_rates=sorted(rates[0]),
        target=0.95,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    # As many steps a turn as a shard lasts, so that every turn has its share of new shards.
    per_shard = REUSE * SHARD_POSITIONS // 256
    measure("connect4", "res_3x3_4x48", batch=256, steps=per_shard, runs=options.runs, shards=4)
    measure("chess", "mob_krb_2x32", batch=256, steps=16, runs=options.runs, shards=1)
