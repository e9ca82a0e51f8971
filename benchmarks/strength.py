"""How strong a net is: perfect moves where the game is solved, and games against pure MCTS.

    python benchmarks/strength.py runs/connect4-train/net.safetensors
    python benchmarks/strength.py NET --game othello:size=6 --rollouts 2000
    python benchmarks/strength.py NET --game go:size=7,komi=9 --rollouts 2000

One JSON line each. `value-preserving moves`: on fixed solved positions in which at least one move
is worse, the share in which the move keeps win, draw or loss, with search and by the policy alone.
`score against mcts`: wins and half the draws, each opening played with both colours.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import commit, machine

from zerogames import get_game
from zerogames.arena.batched_match import (
    BatchedMatch,
    LiveGame,
    NetSide,
    PlayerSide,
    Side,
    play_batched_match,
)
from zerogames.arena.elo import Z95, estimate_elo
from zerogames.arena.openings import RandomOpenings
from zerogames.arena.players import parse_player
from zerogames.arena.results import tally
from zerogames.engine.choice import read_net_spec
from zerogames.errors import UserError
from zerogames.evaluate import Evaluator, open_evaluator
from zerogames.game import Game, State, parse_position
from zerogames.nets import read_net_info
from zerogames.nets.foreign import resolve_net

POSITIONS = {
    "connect4": Path(__file__).parents[1] / "games/classics/tests/data/connect4_positions.txt"
}
"""Solved positions by the identity of the game; the file says how to read it."""
PHASES = ((6, 12), (13, 18), (19, 24), (25, 30))
"""First and last ply."""
RESULTS = {"+": 1, "0": 0, "-": -1}


@dataclass(frozen=True)
class SolvedPosition:
    """A position with the result of each action, in the view of who plays it."""

    state: State
    ply: int
    results: dict[int, int]

    def is_kept_by(self, action: int) -> bool:
        """Whether the action is as good as the best one."""
        return self.results[action] == max(self.results.values())


def read_positions(game: Game, path: Path) -> list[SolvedPosition]:
    """Lines of moves (columns) and a letter for each column."""
    positions = []
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        moves, letters = line.split()
        results = {i: RESULTS[letter] for i, letter in enumerate(letters) if letter != "."}
        state = parse_position(game, "moves " + " ".join(moves))
        positions.append(SolvedPosition(state, len(moves), results))
    return positions


def searched_moves(
    game: Game, evaluator: Evaluator, states: Sequence[State], simulations: int
) -> list[int]:
    """With a search of its own for each position."""
    actions: list[int] = []
    for first in range(0, len(states), 256):
        side = NetSide("net", game, evaluator, visits=simulations)
        chunk = states[first : first + 256]
        games = [LiveGame(number=i, game=game, state=one) for i, one in enumerate(chunk)]
        actions += side.choose(games)
    return actions


def policy_moves(evaluator: Evaluator, states: Sequence[State]) -> list[int]:
    """The policy's favourites among the legal moves."""
    actions: list[int] = []
    for first in range(0, len(states), 256):
        chunk = states[first : first + 256]
        planes = np.stack([state.observe(evaluator.encoding) for state in chunk])
        logits = evaluator.evaluate(planes)[0]
        for state, row in zip(chunk, logits, strict=True):
            legal = state.legal_actions()
            actions.append(int(legal[np.argmax(row[legal])]))
    return actions


def wilson(successes: int, trials: int) -> list[float]:
    """95 % interval of a share."""
    share, z2 = successes / trials, Z95 * Z95
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z95 * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    return [round(middle - half, 4), round(middle + half, 4)]


def report_moves(
    name: str, positions: Sequence[SolvedPosition], actions: Sequence[int], facts: dict[str, object]
) -> None:
    kept = [one.is_kept_by(action) for one, action in zip(positions, actions, strict=True)]
    phases = {}
    for first, last in PHASES:
        of_phase = [k for k, one in zip(kept, positions, strict=True) if first <= one.ply <= last]
        if of_phase:
            phases[f"plies {first}-{last}"] = round(sum(of_phase) / len(of_phase), 4)
    line = {
        "name": name,
        "value": round(sum(kept) / len(kept), 4),
        "unit": "share",
        "interval": wilson(sum(kept), len(kept)),
        "positions": len(kept),
        "phases": phases,
    }
    print(json.dumps(line | facts), flush=True)


def report_match(game: Game, arguments: argparse.Namespace, facts: dict[str, object]) -> None:
    spec = parse_player(f"mcts:{arguments.rollouts}")

    def sides() -> tuple[Side, Side]:
        evaluator = open_evaluator(game, net=arguments.net)
        spec_of_net = read_net_spec(game, arguments.net)
        net = NetSide("net", game, evaluator, visits=arguments.simulations, net=spec_of_net)
        return net, PlayerSide(spec, game, seed=arguments.seed)

    begin = time.monotonic()
    match = BatchedMatch(
        game=game,
        openings=RandomOpenings(game, arguments.opening_plies, arguments.seed),
        pairs=arguments.games // 2,
        threads=arguments.threads,
    )
    outcomes = play_batched_match(match, sides)
    seconds = time.monotonic() - begin
    result = tally(outcomes)[0]
    result = result if result.a == "net" else result.swapped
    elo = estimate_elo(result.pairs)
    line = {
        "name": f"{game.spec.identity}: score against {spec.name}, "
        f"{arguments.simulations} simulations",
        "value": round(result.wdl.score, 4),
        "unit": "points a game",
        "interval": wilson(round(result.wdl.points), round(result.wdl.games)),
        "wins": result.wdl.wins,
        "draws": result.wdl.draws,
        "losses": result.wdl.losses,
        "elo": round(elo.elo, 1) if math.isfinite(elo.elo) else None,
        "elo_error": round(elo.elo_error, 1) if math.isfinite(elo.elo_error) else None,
        "opening_plies": arguments.opening_plies,
        "seconds": round(seconds, 1),
    }
    print(json.dumps(line | facts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("net", type=Path, help="a net file")
    parser.add_argument("--game", help="the game it plays; the net's own by default")
    parser.add_argument("--simulations", type=int, default=200, help="of the net for a move")
    parser.add_argument("--rollouts", type=int, default=1000, help="of pure MCTS for a move")
    parser.add_argument("--games", type=int, default=200, help="0 plays none")
    parser.add_argument("--opening-plies", type=int, default=2, help="random moves at the start")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    try:
        info = read_net_info(resolve_net(arguments.net))
        game = get_game(arguments.game or info.game)
        evaluator = open_evaluator(game, net=arguments.net, threads=arguments.threads)
    except UserError as error:
        parser.error(str(error))
    facts: dict[str, object] = {
        "net": info.name,
        "step": info.step,
        "seed": arguments.seed,
        "machine": machine(),
        "commit": commit(),
    }
    path = POSITIONS.get(game.spec.identity)
    if path is not None:
        positions = read_positions(game, path)
        states = [one.state for one in positions]
        name = f"{game.spec.identity}: value-preserving moves"
        actions = searched_moves(game, evaluator, states, arguments.simulations)
        report_moves(f"{name}, {arguments.simulations} simulations", positions, actions, facts)
        report_moves(f"{name}, policy alone", positions, policy_moves(evaluator, states), facts)
    if arguments.games:
        report_match(game, arguments, facts)


if __name__ == "__main__":
    main()
