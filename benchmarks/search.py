"""Search with a constant evaluator on one core, and the memory of a large chess tree."""

import statistics
import time

from measure import report

from zerogames import game_names, get_game
from zerogames.search import new_search
from zerogames.search.settings import search_preset

TARGETS = {
    "connect4": 1.5e6,
    "othello": None,
    "chess": 250e3,
    "go:size=9": 300e3,
    "go": 100e3,
    "shogi": None,
    "hex": None,
    "breakthrough": None,
}
SIMULATIONS = 800
MEBIBYTES = 2**20


def simulations_per_second(identity: str, *, runs: int = 5, searches: int = 60) -> list[float]:
    """Fresh tree each; per second of CPU time, so that a busy machine does not count."""
    game = get_game(identity)
    settings = search_preset("alphazero", simulations=SIMULATIONS, noise="none", cache_mebibytes=0)
    search = new_search(game, settings)
    state = game.initial_state()
    rates = []
    for _ in range(runs):
        start = time.thread_time()
        for _ in range(searches):
            search.set_position(state)
            search.run_constant()
        rates.append(searches * SIMULATIONS / (time.thread_time() - start))
    return sorted(rates)


def main() -> None:
    for identity, target in TARGETS.items():
        if identity.partition(":")[0] in game_names():
            report(
                f"search {identity}",
                simulations_per_second(identity),
                unit="simulations per CPU second",
                target=target,
            )
    if "chess" in game_names():
        game = get_game("chess")
        settings = search_preset(
            "alphazero", simulations=1_000_000, noise="none", cache_mebibytes=0
        )
        middle = "r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 0 9"
        search = new_search(game, settings, state=game.parse_state(middle))
        search.run_constant()
        legal = statistics.mean(search.tree()["num_legal"].tolist())
        size = search.tree_bytes / MEBIBYTES * 1e6 / search.tree_size
        report(
            f"chess tree, {legal:.1f} moves a node", [size], unit="MiB per 1e6 nodes", target=400
        )


if __name__ == "__main__":
    main()
