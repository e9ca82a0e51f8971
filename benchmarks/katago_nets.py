"""Search with a net of KataGo on one thread: `python benchmarks/katago_nets.py NET.bin.gz`.

Visits per CPU second on 19x19 and 9x9: our kernels in float32, int8, and onnxruntime in float32.
They take turns after every position, each with a new tree and an empty cache, so that other work on
the machine falls on all. The positions are the empty board and games that the net played alone.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from measure import report

from zerogames import Game, get_game
from zerogames.engine import EngineSettings, NetEngine, ThinkLimits
from zerogames.evaluate import Evaluator, evaluate_states, open_evaluator
from zerogames.game import State

KATAGO_EIGEN = {19: 102.0, 9: 313.0}
"""Visits per CPU second of KataGo's own CPU backend with b6c96 on such a machine, one thread."""
KINDS = (("native", "fp32"), ("native", "int8"), ("onnx", "fp32"))
PLIES = {19: (0, 20, 60, 120), 9: (0, 8, 20, 32)}


def positions(game: Game, evaluator: Evaluator, plies: tuple[int, ...]) -> list[State]:
    """Positions of a game of moves drawn from the net's policy."""
    rng = np.random.default_rng(1)
    state, found = game.initial_state(), []
    for ply in range(max(plies) + 1):
        if ply in plies:
            found.append(state)
        policy = evaluate_states(evaluator, [state])[0].policy
        chances = np.array(list(policy.values()))
        state = state.play(int(rng.choice(list(policy), p=chances / chances.sum())))
        if state.result is not None:
            break
    return found


def visits_per_cpu_second(engine: NetEngine, state: State, visits: int) -> float:
    """Of a search with a new tree."""
    engine.new_game()
    engine.set_position(state, [])
    start = time.process_time()
    thought = engine.think(ThinkLimits(nodes=visits))
    return thought.nodes / (time.process_time() - start)


def measure(net: Path, size: int, *, visits: int, rounds: int, batch: int) -> None:
    """Report all kinds on one board."""
    game = get_game(f"go:size={size}")
    engines = {}
    for kind, precision in KINDS:
        settings = EngineSettings(evaluator=kind, precision=precision, batch=batch)
        engines[kind, precision] = NetEngine.open(game, net, settings)
    states = positions(game, open_evaluator(game, net=net), PLIES[size])
    rates: dict[tuple[str, str], list[float]] = {kind: [] for kind in KINDS}
    for number in range(rounds + 1):
        for state in states:
            for kind, engine in engines.items():
                rate = visits_per_cpu_second(engine, state, visits)
                if number > 0:  # the first round is for caches and clocks
                    rates[kind].append(rate)
    for kind in KINDS:
        report(
            f"KataGo net {size}x{size} {' '.join(kind)}",
            rates[kind],
            unit=f"visits per CPU second, {visits} visits, batch {batch}",
            peer=("onnx fp32", rates["onnx", "fp32"]),
            target=2 * KATAGO_EIGEN[size],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("net", type=Path)
    parser.add_argument("--visits", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    for size in (19, 9):
        measure(args.net, size, visits=args.visits, rounds=args.rounds, batch=args.batch)


if __name__ == "__main__":
    main()
