"""What in-tree batching costs in strength: batch 1 against a larger batch at equal nodes.

All games run side by side, so that batch 1 keeps the evaluator busy too. Openings are random plies,
each played with both colours; Elo with 95 % intervals by pairs.
"""

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from measure import commit, machine

import zerogames
from zerogames.arena import Pentanomial, estimate_elo
from zerogames.arena.results import pair_of
from zerogames.evaluate import Evaluator, open_evaluator
from zerogames.game import Game, State
from zerogames.nets import build_model, save_net
from zerogames.search import DEFAULT_BATCH, Search, new_search
from zerogames.search.settings import search_preset


@dataclass
class Match:
    """One game; the batched player has colour `batched`."""

    state: State
    batched: int
    searches: list[Search]

    @property
    def search(self) -> Search:
        """Whose turn it is."""
        return self.searches[self.state.to_play]


def random_opening(game: Game, rng: np.random.Generator, plies: int) -> State:
    while True:
        state = game.initial_state()
        for _ in range(plies):
            if state.result is None:
                state = state.play(int(rng.choice(state.legal_actions())))
        if state.result is None:
            return state


def play(game: Game, evaluator: Evaluator, options: argparse.Namespace) -> Pentanomial:
    """Play all games at once and count the pairs, seen by the batched player."""
    rng = np.random.default_rng(options.seed)
    nodes = options.nodes
    settings = search_preset("engine", simulations=nodes, early_stop=False, cache_mebibytes=4)
    matches = []
    for _ in range(options.pairs):
        opening = random_opening(game, rng, options.plies)
        for colour in (0, 1):
            searches = [new_search(game, settings, state=opening) for _ in range(2)]
            matches.append(Match(opening, colour, searches))
    live = list(matches)
    while live:
        waiting, rows = [], []
        for match in live:
            size = options.batch if match.state.to_play == match.batched else 1
            planes = match.search.collect(size)
            if len(planes):
                waiting.append((match, len(planes)))
                rows.append(planes.copy())
        if rows:
            evaluation = evaluator.evaluate(np.concatenate(rows))
            first = 0
            for match, count in waiting:
                part = slice(first, first + count)
                match.search.apply(evaluation.policy_logits[part], evaluation.wdl[part])
                first += count
        for match in live:
            if match.search.done:
                action = match.search.choose(0.0)
                match.state = match.state.play(action)
                for search in match.searches:
                    search.advance(action)
        live = [match for match in live if match.state.result is None]
    total = Pentanomial()
    for first_game, second_game in zip(matches[::2], matches[1::2], strict=True):
        points = [
            ((match.state.result or 0.0) * (1 if match.batched == 0 else -1) + 1) / 2
            for match in (first_game, second_game)
        ]
        total += pair_of(*points)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="othello:size=6")
    parser.add_argument("--net", default=None, help="net file or architecture")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--nodes", type=int, default=800)
    parser.add_argument("--batch", type=int, default=DEFAULT_BATCH)
    parser.add_argument("--plies", type=int, default=6, help="random plies of an opening")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    game = zerogames.get_game(options.game)
    with tempfile.TemporaryDirectory() as folder:
        net = Path(options.net or "")
        name = options.net or "res_3x3_2x16"
        if not net.is_file():
            net = Path(folder) / "net.safetensors"
            save_net(net, build_model(game.parse_net(name), game, seed=options.seed))
        evaluator = open_evaluator(game, net=net, threads=2)
        pairs = play(game, evaluator, options)
    estimate = estimate_elo(pairs)
    line = {
        "name": f"batch {options.batch} against batch 1, {game.spec.identity} {name}",
        "games": 2 * options.pairs,
        "nodes": options.nodes,
        "elo": round(estimate.elo, 1),
        "error": round(estimate.elo_error, 1),
        "pairs": asdict(pairs),
        "seed": options.seed,
        "machine": machine(),
        "commit": commit(),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
