"""Whether a game's own kernels beat squares and random taps: one JSON line a kernel.

    python benchmarks/patterns.py hex:size=7 --net hex7.safetensors --out /tmp/patterns

A trained net plays against itself; then nets that differ in their kernels learn the same positions
of those games, each with every seed. Every kernel of the game's own stands beside random taps of
the same number. The same command continues what was stopped; `OUT/compare/comparison.md` has the
table with deviations and t-tests.
"""

import argparse
import json
import statistics
import sys
from itertools import groupby
from pathlib import Path

from measure import commit, machine

from zerogames.cli import main as run_command
from zerogames.game import Game
from zerogames.registry import get_game

PRESET = """\
command = "pretrain"
game = "{game}"
nets = {nets}
data = ["{data}"]
steps = {steps}

[validation]
share = 0.2
every = {steps}
positions = 20000
per_game = 0

[trainer]
batch_size = 256
optimizer = "adamw"
learning_rate = 2e-3
final_learning_rate = 1e-4
schedule = "cosine"
warmup_steps = 100
clip_norm = 5.0
"""


def net_names(game: Game, size: str) -> list[str]:
    """3x3 and 5x5, and for each number of taps the game's own patterns, then random ones."""
    taps = sorted((len(pattern.offsets), letter) for letter, pattern in game.patterns.items())
    kernels = ["3x3", "5x5"]
    for count, group in groupby(taps, key=lambda entry: entry[0]):
        kernels += ["".join(letter for _, letter in group), f"rng{count}"]
    return [f"mob_{kernel}_{size}" for kernel in kernels]


def run(*arguments: object) -> None:
    """Run a command of zerogames; stop with its exit code if it fails."""
    code = run_command([str(argument) for argument in arguments])
    if code:
        sys.exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("game", help="a game with patterns of its own, such as hex:size=7")
    parser.add_argument("--net", default="shipped", help="the net that plays the games")
    parser.add_argument("--games", type=int, default=5000)
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--size", default="4x48", help="blocks x channels of the nets that learn")
    parser.add_argument("--steps", type=int, default=2000, help="of each training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    game = get_game(options.game)
    if not game.patterns:
        parser.error(f"{options.game} has no patterns of its own")
    nets = net_names(game, options.size)
    played, compared = options.out / "games", options.out / "compare"
    run(
        *("selfplay", "--game", options.game, "--net", options.net, "--games", options.games),
        *("--simulations", options.simulations, "--out", played),
    )
    preset = options.out / "preset.toml"
    preset.write_text(
        PRESET.format(
            game=options.game,
            nets=json.dumps(nets),
            data=played.resolve() / "shards",
            steps=options.steps,
        )
    )
    run("compare", "--preset", preset, "--seeds", *options.seeds, "--out", compared)
    rows = json.loads((compared / "comparison.json").read_text())
    if sum(len(row["runs"]) for row in rows) < len(nets) * len(options.seeds):
        sys.exit("stopped; the same command continues from here")
    for row in rows:
        found = [run["final_policy_accuracy"] for run in row["runs"].values()]
        line = {
            "name": f"kernels of {options.game}",
            "net": row["net"],
            "value": round(statistics.mean(found), 5),
            "unit": "policy accuracy",
            "spread": [round(min(found), 5), round(max(found), 5)],
            "runs": len(found),
            "parameters": row["parameters"],
            "machine": machine(),
            "commit": commit(),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
