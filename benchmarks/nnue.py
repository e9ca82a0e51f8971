"""NNUE: evaluations and search nodes per second on one core, and training samples per second.

Usage: python benchmarks/nnue.py [--training]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import report
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.engine import bench
from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.inference import load_native
from zerogames_chess.nnue.network import Network

RUNS = 5


def random_network(features: str, m: int, o: int, p: int) -> Network:
    """Weights of a usual size; speed does not depend on what they say."""
    generator = np.random.default_rng(1)
    size = FeatureSet(features).size
    return Network(
        features=features,
        w1=generator.integers(-30, 31, (size, m)).astype(np.int16),
        b1=generator.integers(-20, 80, m).astype(np.int16),
        w2=generator.integers(-30, 31, (o, 2 * m)).astype(np.int8),
        b2=generator.integers(-4000, 4000, o).astype(np.int32),
        w3=generator.integers(-60, 61, (p, o)).astype(np.int8),
        b3=generator.integers(-4000, 4000, p).astype(np.int32),
        w4=generator.integers(-60, 61, p or o).astype(np.int8),
        b4=0,
    )


def cpu_rates(work: "object", runs: int = RUNS) -> list[float]:
    """Units per second of CPU time: a shared machine's clock says little."""
    rates = []
    for _ in range(runs):
        began = time.process_time()
        units = work()  # type: ignore[operator]
        rates.append(units / (time.process_time() - began))
    return sorted(rates)


def bench_network(features: str, m: int, o: int, p: int) -> None:
    native = load_native(random_network(features, m, o, p))
    name = f"{features} {m}-{o}-{p}, {native.kernel}"
    rates = []
    for _ in range(RUNS):
        evaluations, seconds = _native.time_evaluations(native, 200_000, 1)
        rates.append(evaluations / seconds)
    target = 2e6 if (features, m, o, p) == ("piece", 256, 32, 32) else None
    report(f"nnue evaluations, {name}", sorted(rates), unit="1/s of CPU time", target=target)
    engine = _native.Engine(native, 16)
    target = 0.7e6 if target else None
    rates = cpu_rates(lambda: bench(engine, 9)[0])
    report(f"nnue search, {name}", rates, unit="nodes/s of CPU time", target=target)


def bench_training() -> None:
    from zerogames_chess.nnue.records import RECORD, write_records
    from zerogames_chess.nnue.train import TrainOptions
    from zerogames_chess.nnue.trainer import Trainer

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        records = np.resize(_positions(), 262_144)
        records["score"] = np.random.default_rng(1).integers(-500, 500, len(records))
        write_records(data / "training.zgd", records, {"unit": "internal"})
        write_records(data / "validation.zgd", records[:0].astype(RECORD), {"unit": "internal"})
        trainer = Trainer(TrainOptions(data=data, out=data / "run", threads=2))
        rates = [trainer.train_epoch()[1] for _ in range(RUNS)]
    report(
        "nnue training through the pipeline, piece 256-32-32, 2 threads",
        sorted(rates),
        unit="samples/s",
        target=200_000,
    )


def _positions() -> "np.ndarray[tuple[int], np.dtype[np.void]]":
    import random

    import chess
    from zerogames_chess.nnue.records import RECORD, pack_board

    generator = random.Random(1)
    rows = np.zeros(4000, RECORD)
    board = chess.Board()
    for row in rows:
        if board.is_game_over() or board.ply() > 150:
            board = chess.Board()
        board.push(generator.choice(list(board.legal_moves)))
        row["board"] = pack_board(board)
        row["black_to_move"] = not board.turn
    return rows


if __name__ == "__main__":
    bench_network("piece", 256, 32, 32)
    bench_network("piece", 512, 32, 0)
    bench_network("kp", 256, 32, 32)
    bench_network("piece+h+v", 256, 32, 32)
    if "--training" in sys.argv:
        bench_training()
