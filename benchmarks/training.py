"""Training with the data pipeline against the same loop on a fixed batch.

The pipeline draws every batch from a replay window, whose background thread decodes, transforms and
batches, and lets the window move on by a shard whenever its positions have been used four times, as
a run does. Both loops take turns, so that other work on the machine meets both alike; the figures
per CPU second charge the background thread in full and hold on a busy machine too.
"""

import argparse
import tempfile
import time
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
from zerogames.train import Draws, ReplayWindow, Trainer, TrainerSettings, WindowSettings

REUSE = 4
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


def write_shards(game: Game, folder: Path, count: int, positions: int) -> list[Path]:
    rng = np.random.default_rng(SEED)
    paths = []
    for number in range(count):
        records, written = [], 0
        while written < positions:
            records.append(random_record(game, rng))
            written += len(records[-1].actions)
        paths.append(folder / f"{number}.parquet")
        write_shard(paths[-1], records)
    return paths


def measure(identity: str, net: str, *, batch: int, steps: int, runs: int) -> None:
    game = get_game(identity)
    spec = game.parse_net(net)
    trainer = Trainer(
        build_model(spec, game, seed=SEED), game, TrainerSettings(batch_size=batch, warmup_steps=0)
    )
    positions = steps * batch // REUSE  # of a shard: every turn takes up a new one
    settings = WindowSettings(batch_size=batch, max_positions=4 * positions)
    rates: dict[str, tuple[list[float], list[float]]] = {"CPU second": ([], []), "s": ([], [])}
    with tempfile.TemporaryDirectory() as folder:
        shards = cycle(write_shards(game, Path(folder), 4, positions))
        with ReplayWindow(game, spec.encoding, settings, Draws(seed=SEED)) as window:
            for _ in range(4):
                window.add(next(shards))
            fixed = window.draw().copy()
            for turn in range(2 * (runs + 1)):
                wall, cpu = time.perf_counter(), time.process_time()
                for _ in range(steps):
                    trainer.train_step(window.draw() if turn % 2 else fixed)
                if turn % 2:
                    window.add(next(shards))
                if turn > 1:  # the first turns warm up
                    seconds = (time.process_time() - cpu, time.perf_counter() - wall)
                    for unit, spent in zip(rates, seconds, strict=True):
                        rates[unit][turn % 2].append(steps * batch / spent)
    for unit, (fixed_rates, pipeline_rates) in rates.items():
        report(
            f"training {net} of {identity} with the data pipeline, batch {batch}, "
            f"{torch.get_num_threads()} threads",
            sorted(pipeline_rates),
            unit=f"positions/{unit}",
            seed=SEED,
            peer=("the same loop on a fixed batch", sorted(fixed_rates)),
            target=0.95,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    measure("connect4", "res_3x3_4x32", batch=256, steps=16, runs=options.runs)
    measure("chess", "mob_krb_2x32", batch=128, steps=16, runs=options.runs)
