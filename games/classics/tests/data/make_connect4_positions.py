"""Make the solved Connect Four positions of benchmarks/strength.py.

    python games/classics/tests/data/make_connect4_positions.py connect4_positions.txt

1,000 positions with 6 to 30 stones, in each of which at least one legal move is worse than the
best: 46 for each ply from 11 on, fewer before, where one may take a minute. They come from games
between players who win at once where they can and block where they must, and else move at random.
What the file has already is kept, so that it can be made in parts.
"""

import argparse
import os
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

from zerogames_classics.connect4_solver import Connect4Solver

from zerogames import get_game
from zerogames.atomic import write_text_atomically
from zerogames.game import State, play_actions

SEED = 2026
PER_PLY = {6: 4, 7: 6, 8: 10, 9: 20, 10: 40} | dict.fromkeys(range(11, 31), 46)
BLUNDER_SHARE = 0.15
"""Of moves that look at nothing."""
LETTERS = {1: "+", 0: "0", -1: "-"}

HEADER = """\
# Connect Four positions with the value of every move, made by make_connect4_positions.py.
# The moves that lead there (columns 1 to 7), then for each column what its player can still reach:
# + a win, 0 a draw, - a loss, . nothing as the column is full.
"""


def sensible_move(state: State, rng: random.Random) -> int:
    """Win at once, or keep the opponent from it, or anything."""
    actions: list[int] = state.legal_actions().tolist()
    if rng.random() >= BLUNDER_SHARE:
        for action in actions:
            if state.play(action).end_reason == "four in a row":
                return action
        for action in actions:
            # Who would win there next, if the mover played elsewhere?
            for other in actions:
                after = state.play(other)
                if other != action and after.is_legal(action):
                    if after.play(action).end_reason == "four in a row":
                        return action
                    break
    return rng.choice(actions)


def candidates(ply: int) -> Iterator[list[int]]:
    """Actions that lead to different positions in which the game is not over."""
    rng = random.Random(f"{SEED} {ply}")
    game = get_game("connect4")
    seen: set[int] = set()
    while True:
        state, actions = game.initial_state(), list[int]()
        while state.result is None and len(actions) < ply:
            actions.append(sensible_move(state, rng))
            state = state.play(actions[-1])
        image = play_actions(game.initial_state(), [6 - action for action in actions])
        key = min(state.position_key, image.position_key)
        if state.result is None and key not in seen:
            seen.add(key)
            yield actions


@cache
def solver() -> Connect4Solver:
    """One for each process."""
    return Connect4Solver(mebibytes=256)


def solved_line(actions: list[int]) -> str | None:
    """A line of the file; None if all moves are as good."""
    state = play_actions(get_game("connect4").initial_state(), actions)
    results = solver().action_results(state)
    if results.min() == results.max():
        return None
    letters = ["."] * 7
    for action, result in zip(state.legal_actions(), results, strict=True):
        letters[action] = LETTERS[int(result)]
    return _text(actions) + " " + "".join(letters)


def positions(ply: int, known: Sequence[str], pool: Pool) -> list[str]:
    """The lines of one ply; solved a few at a time, as how many are needed is not known."""
    lines = list(known)
    moves_known = {line.split()[0] for line in known}
    supply = (one for one in candidates(ply) if _text(one) not in moves_known)
    while len(lines) < PER_PLY[ply]:
        chunk = list(islice(supply, 4))
        lines += [line for line in pool.map(solved_line, chunk, chunksize=1) if line is not None]
        print(f"ply {ply}: {len(lines)} positions", flush=True)
    return lines[: PER_PLY[ply]]


def _text(actions: Sequence[int]) -> str:
    return "".join(str(action + 1) for action in actions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--plies", type=int, nargs=2, default=(6, 30))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    by_ply: dict[int, list[str]] = {}
    if arguments.file.exists():
        for line in arguments.file.read_text().splitlines():
            if not line.startswith("#"):
                by_ply.setdefault(len(line.split()[0]), []).append(line)
    with get_context("spawn").Pool(arguments.processes) as pool:
        for ply in sorted(PER_PLY, reverse=True):  # early positions take longest
            known = by_ply.get(ply, [])
            if arguments.plies[0] <= ply <= arguments.plies[1] and len(known) < PER_PLY[ply]:
                by_ply[ply] = positions(ply, known, pool)
                text = "\n".join(line for ply in sorted(by_ply) for line in by_ply[ply])
                write_text_atomically(arguments.file, HEADER + text + "\n")


if __name__ == "__main__":
    main()
