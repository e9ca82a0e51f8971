"""Go: random games from Python, encodings of middle games, SGF; one JSON line each."""

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import report
from zerogames_go import read_sgf, write_sgf

from zerogames import get_game
from zerogames.data import GameRecord
from zerogames.game import State

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "go"


def cpu_rate(work: Callable[[], float], *, runs: int) -> list[float]:
    """Units per second of this process's own time: other programs on the machine do not count."""
    rates = []
    for _ in range(runs):
        start = time.process_time()
        units = work()
        rates.append(units / (time.process_time() - start))
    return sorted(rates)


def random_games(size: int, count: int, seed: int) -> Callable[[], int]:
    """A Python loop of legal_actions, choice and play; returns the moves played."""
    start = get_game(f"go:size={size}").initial_state()

    def work() -> int:
        choose = random.Random(seed).random
        moves = 0
        for _ in range(count):
            state = start
            while True:
                actions = state.legal_actions()
                legal = actions.size
                if legal == 0:
                    break
                state = state.play(actions.item(int(choose() * legal)))
            moves += state.plies
        return moves

    return work


def real_games() -> list[tuple[bytes, GameRecord]]:
    """19x19 games of at least 100 moves with their files; empty without ../shared."""
    found = []
    for path in sorted(SHARED.joinpath("gnugo-regression-games").rglob("*.sgf")):
        data = path.read_bytes()
        for record in read_sgf(data, on_error=lambda error: None):
            if "size=" not in record.game and len(record.actions) >= 100:
                found.append((data, record))
    return found


def played_games(count: int, seed: int) -> list[tuple[bytes, GameRecord]]:
    """Random games, for a machine without the real ones."""
    game, rng = get_game("go"), random.Random(seed)
    found = []
    for _ in range(count):
        state, actions = game.initial_state(), []
        while state.result is None and len(actions) < 240:
            actions.append(rng.choice(state.legal_actions().tolist()))
            state = state.play(actions[-1])
        record = GameRecord(game="go", actions=np.array(actions, np.int32), result=None)
        found.append((write_sgf(record).encode(), record))
    return found


def middle_games(records: list[GameRecord], count: int, seed: int) -> list[State]:
    """One position from each of `count` games, after 60 moves to the last."""
    rng = random.Random(seed)
    states = []
    for record in records[:count]:
        state = record.start_state(get_game(record.game))
        for action in record.actions[: rng.randrange(60, len(record.actions))].tolist():
            state = state.play(action)
        states.append(state)
    return states


def encode(states: list[State], encoding: str) -> Callable[[], int]:
    out = np.empty(get_game("go").encodings[encoding].shape, np.float32)

    def work() -> int:
        for state in states:
            state.observe(encoding, out)
        return len(states)

    return work


def read_all(files: list[bytes]) -> Callable[[], int]:
    def work() -> int:
        return sum(1 for data in files for _ in read_sgf(data, on_error=lambda error: None))

    return work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--games", type=int, default=50, help="random games per run")
    options = parser.parse_args()
    seed, runs = options.seed, options.runs

    for size, target in ((19, 495_000.0), (9, None)):
        rates = cpu_rate(random_games(size, options.games, seed), runs=runs)
        name = f"go/random-games-{size}x{size}"
        report(name, rates, unit="moves/s of one core", seed=seed, target=target)

    games = real_games() or played_games(200, seed)
    kind = "real" if len(games) > 200 else "random"
    states = middle_games([record for _, record in games], 400, seed)
    for encoding, target in (("golois-21", 5000.0), ("leela-18", None)):
        rates = cpu_rate(encode(states, encoding), runs=runs)
        name = f"go/encode-{encoding}-{kind}-19x19"
        report(name, rates, unit="positions/s of one core", seed=seed, target=target)

    rates = cpu_rate(read_all([data for data, _ in games]), runs=runs)
    report(f"go/sgf-{kind}-19x19", rates, unit="games/s of one core", seed=seed, target=5000.0)


if __name__ == "__main__":
    main()
