"""Random games through Python, beside OpenSpiel's in the same process; one JSON line a game.

The loop is what a user would write: legal actions, a choice, the next state. Both sides play the
same number of moves from the same seeds, in alternating turns, per second of CPU time.
"""

import argparse
import random
import time
from collections.abc import Callable

import pyspiel
from measure import report

from zerogames import game_names, get_game

GAMES = {
    "connect4": "connect_four",
    "othello": "othello",
    "chess": "chess",
    "shogi": "shogi",
    "go:size=9": "go(board_size=9)",
    "go": "go",
    "hex": "hex",
    "breakthrough": "breakthrough",
    "amazons": "amazons",
    "gomoku": "gomoku",
    "havannah": "havannah",
}
"""Our games, and OpenSpiel's names for them."""
TARGET = 2.5
"""Times OpenSpiel's rate; 3 in games that came after it was measured."""


def play_ours(identity: str, num_moves: int) -> Callable[[], int]:
    """Return a function that plays at least so many moves, and returns how many."""
    start = get_game(identity).initial_state()

    def work() -> int:
        draw = random.Random(1).random
        moves = 0
        while moves < num_moves:
            state = start
            while True:
                actions = state.legal_actions()
                legal = actions.size
                if not legal:
                    break
                state = state.play(actions.item(int(draw() * legal)))
                moves += 1
        return moves

    return work


def play_theirs(name: str, num_moves: int) -> Callable[[], int]:
    """The same with OpenSpiel, whose states change in place."""
    game = pyspiel.load_game(name)

    def work() -> int:
        draw = random.Random(1).random
        moves = 0
        while moves < num_moves:
            state = game.new_initial_state()
            while True:
                actions = state.legal_actions()
                legal = len(actions)
                if not legal:
                    break
                state.apply_action(actions[int(draw() * legal)])
                moves += 1
        return moves

    return work


def alternate(
    ours: Callable[[], int], theirs: Callable[[], int], *, runs: int
) -> tuple[list[float], list[float]]:
    """Moves per CPU second of both, in turns, so that both meet the same machine."""
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for work, found in zip((ours, theirs), rates, strict=True):
            start = time.process_time()
            moves = work()
            found.append(moves / (time.process_time() - start))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", default=list(GAMES), help="our identities")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--moves", type=int, default=30_000, help="moves of each run")
    options = parser.parse_args()
    installed = game_names()
    for identity in options.games:
        if identity.partition(":")[0] not in installed:
            continue
        ours, theirs = (
            play(name, options.moves)
            for play, name in ((play_ours, identity), (play_theirs, GAMES[identity]))
        )
        rates, peer_rates = alternate(ours, theirs, runs=options.runs)
        report(
            f"random games of {identity} through Python",
            rates,
            unit="moves per CPU second",
            seed=1,
            peer=("OpenSpiel", peer_rates),
            target=TARGET,
        )


if __name__ == "__main__":
    main()
