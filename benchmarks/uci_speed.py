"""Nodes per second of the chess engine with a net, against the raw evaluator and lc0.

The start position and five middle games, one and two threads. Only positions that the net evaluated
count against the evaluator, no cache hits; raw = the best batch between 16 and 256, with one
session that uses all threads, as the engine does it, and with a session for each thread side by
side. All take turns after every position, so that other work on the machine falls on all.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import report
from numpy.typing import NDArray

import zerogames
from zerogames.engine import EngineSettings, NetEngine, ThinkLimits
from zerogames.evaluate import Evaluator, open_evaluator
from zerogames.nets import build_model, save_net
from zerogames.search.settings import search_preset

POSITIONS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "2r3k1/pp3pp1/4p2p/3pP3/1b1P4/1P2BN2/P4PPP/2R3K1 w - - 2 24",
    "r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 9",
    "8/8/1p1k2p1/p1prp2p/P2n3P/6P1/1P1R1PK1/4R3 b - - 5 49",
)
BATCHES = (16, 32, 64, 128, 256)
LC0_NODES_PER_S = 1661
"""Of lc0 with the same net on two cores of such a machine."""


Clock = Callable[[], float]


def side_by_side(
    evaluators: list[Evaluator], planes: NDArray[np.float32], seconds: float, clock: Clock
) -> float:
    """Positions per second of evaluators in a thread each."""
    counts = [0] * len(evaluators)
    end = clock() + seconds

    def work(index: int) -> None:
        while clock() < end:
            evaluators[index].evaluate(planes)
            counts[index] += len(planes)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(evaluators))]
    start = clock()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (clock() - start)


def best_batch(
    evaluator: Evaluator, planes: NDArray[np.float32], seconds: float, clock: Clock
) -> int:
    parts = {batch: np.ascontiguousarray(planes[:batch]) for batch in BATCHES}
    rates: dict[int, list[float]] = {batch: [] for batch in BATCHES}
    for _ in range(5):
        for batch, part in parts.items():
            rates[batch].append(side_by_side([evaluator], part, seconds, clock))
    return max(rates, key=lambda batch: statistics.median(rates[batch]))


def measure(
    net: Path, *, threads: int, precision: str, batch: int, args: argparse.Namespace
) -> None:
    game = zerogames.get_game("chess")
    clock: Clock = time.process_time if args.cpu_time else time.perf_counter
    second = "CPU second" if args.cpu_time else "s"
    evaluator = open_evaluator(game, net=net, threads=threads, precision=precision)
    others = [open_evaluator(game, net=net, threads=1, precision=precision) for _ in range(threads)]
    states = [game.parse_state(fen) for fen in POSITIONS]
    planes = np.stack([states[row % len(states)].observe(evaluator.encoding) for row in range(256)])
    raw_batch = best_batch(evaluator, planes, args.seconds / 2, clock)
    part = np.ascontiguousarray(planes[:raw_batch])
    settings = EngineSettings(
        search=search_preset("engine", early_stop=False), batch=batch * threads
    )
    searched, nodes, raw, lanes = [], [], [], []
    for state in states * args.runs:
        engine = NetEngine(game, evaluator, settings)
        engine.set_position(state)
        began = clock()
        thought = engine.think(ThinkLimits(nodes=args.nodes))
        elapsed = clock() - began
        searched.append(thought.evaluations / elapsed)
        nodes.append(thought.nodes / elapsed)
        raw.append(side_by_side([evaluator], part, args.seconds, clock))
        if threads > 1:
            lanes.append(side_by_side(others, part, args.seconds, clock))
    label = f"{threads} thread{'s' if threads > 1 else ''}, {precision}, batch {batch * threads}"
    report(
        f"positions evaluated in searches, {label}",
        sorted(searched),
        unit=f"positions/{second}",
        peer=(f"the raw evaluator, batch {raw_batch}", sorted(raw)),
        target=0.9,
    )
    if lanes:
        report(
            f"one session of {threads} threads, raw, {precision}",
            sorted(raw),
            unit=f"positions/{second}",
            peer=(f"{threads} sessions of one thread side by side", sorted(lanes)),
        )
    report(
        f"nodes, {label}",
        sorted(nodes),
        unit=f"nodes/{second}",
        peer=("lc0 with the same net on two cores (recorded)", [LC0_NODES_PER_S]),
        target=4.0 if precision == "int8" else 2.0,
    )


def new_net(folder: Path) -> Path:
    game = zerogames.get_game("chess")
    path = folder / "new.safetensors"
    save_net(path, build_model(game.parse_net("res_3x3_6x64"), game))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", type=Path, help="e.g. maia-1500.pb.gz; by default a new 6x64 net")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precision", nargs="+", default=["fp32"])
    parser.add_argument("--batch", type=int, default=32, help="for each thread, as in uci")
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="count CPU seconds, for busy machines",
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        net = args.net or new_net(Path(folder))
        for precision in args.precision:
            for threads in args.threads:
                measure(net, threads=threads, precision=precision, batch=args.batch, args=args)


if __name__ == "__main__":
    main()
