"""Monte Carlo tree search without a net: uniform priors and random rollouts."""

import math
import time

import numpy as np

from zerogames.arena.local_player import LocalPlayer
from zerogames.arena.players import Choice, MoveLimits, PlayerKind, Position
from zerogames.errors import UserError
from zerogames.search import new_rollouts

_ROLLOUTS_PER_CHECK = 32
"""Rollouts between two looks at the clock; one takes from 1 us to several milliseconds."""


class MctsPlayer(LocalPlayer):
    """Upper-confidence tree search with a fixed number of rollouts a move, or by the clock."""

    def __init__(self, rollouts: int | None) -> None:
        super().__init__()
        self._rollouts = rollouts

    def choose(self, position: Position, limits: MoveLimits) -> Choice:
        """Search, then take the most visited move."""
        wanted = self._rollouts or limits.nodes
        budget = limits.budget_s(position.state.to_play)
        if wanted is None and budget is None:
            raise UserError("mcts needs a limit: write mcts:1000, or give --nodes, --tc or --st")
        end = math.inf if budget is None else time.monotonic() + budget
        tree = new_rollouts(position.game, position.state, seed=int(self._rng.integers(1 << 62)))
        while not self._closed and (wanted is None or tree.total < wanted):
            left = math.inf if wanted is None else wanted - tree.total
            tree.run(int(min(_ROLLOUTS_PER_CHECK, left)))
            if time.monotonic() >= end:
                break
        best = int(np.argmax(tree.visits))
        win_rate = (1 + float(tree.values[best])) / 2
        return Choice(action=int(tree.actions[best]), win_rate=win_rate, nodes=max(1, tree.total))


def _parse(argument: str) -> int | None:
    if argument == "":
        return None
    if not argument.isdecimal() or not 1 <= int(argument) <= 100_000_000:
        raise UserError(f"'mcts:{argument}': write the rollouts a move, e.g. mcts:1000")
    return int(argument)


def _title(argument: str) -> str:
    rollouts = _parse(argument)
    return "mcts" if rollouts is None else f"mcts:{rollouts}"


kind = PlayerKind(title=_title, make=lambda argument, game: MctsPlayer(_parse(argument)))
