"""Monte Carlo tree search without a net: uniform priors, random rollouts.

Plain Python over any game: a baseline whose strength is known, not a fast engine.
"""

import math
import time
from dataclasses import dataclass, field

import numpy as np

from zerogames.arena.players import Choice, Limits, PlayerKind, Position
from zerogames.errors import UserError
from zerogames.game import Game, State

_EXPLORATION = 1.4
_LONGEST_ROLLOUT = 1000
"""Plies; longer ones count as draws."""


@dataclass(slots=True)
class _Node:
    state: State
    actions: list[int]
    children: "list[_Node | None]" = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    """Sums in the view of the player to move here."""
    total: int = 0

    @classmethod
    def of(cls, state: State) -> "_Node":
        actions = [int(action) for action in state.legal_actions()]
        count = len(actions)
        return cls(state, actions, [None] * count, [0] * count, [0.0] * count)

    def select(self, untried: int) -> int:
        """The child with the highest upper bound; `untried` breaks ties among new ones."""
        visits, values = self.visits, self.values
        if self.total < len(visits):
            new = [index for index, count in enumerate(visits) if count == 0]
            return new[untried % len(new)]
        spread = _EXPLORATION * math.sqrt(math.log(self.total))
        scores = [
            value / count + spread / math.sqrt(count)
            for value, count in zip(values, visits, strict=True)
        ]
        return scores.index(max(scores))


class MctsPlayer:
    """Upper-confidence tree search with a fixed number of rollouts a move, or by the clock."""

    def __init__(self, rollouts: int | None) -> None:
        self._rollouts = rollouts
        self._rng = np.random.default_rng(0)
        self._closed = False

    def new_game(self, position: Position, seed: int) -> None:
        """Start a new sequence of random numbers."""
        self._rng = np.random.default_rng(seed)

    def choose(self, position: Position, limits: Limits) -> Choice:
        """Search, then take the most visited move."""
        rollouts = self._rollouts or limits.nodes
        budget = limits.budget_s(position.state.to_play)
        if rollouts is None and budget is None:
            raise UserError("mcts needs a limit: write mcts:1000, or give --nodes, --tc or --st")
        end = math.inf if budget is None else time.monotonic() + budget
        root = _Node.of(position.state)
        while not self._closed and (rollouts is None or root.total < rollouts):
            self._simulate(root)
            if time.monotonic() >= end:
                break
        best = max(range(len(root.actions)), key=lambda index: root.visits[index])
        value = root.values[best] / max(1, root.visits[best])
        return Choice(action=root.actions[best], win_rate=(1 + value) / 2, nodes=root.total)

    def close(self) -> None:
        """End a running search."""
        self._closed = True

    def _simulate(self, root: _Node) -> None:
        path: list[tuple[_Node, int]] = []
        node = root
        while True:
            if node.state.result is not None:
                outcome = node.state.result
                break
            index = node.select(int(self._rng.integers(1 << 30)))
            path.append((node, index))
            child = node.children[index]
            if child is None:
                child = _Node.of(node.state.play(node.actions[index]))
                node.children[index] = child
                outcome = self._rollout(child.state)
                break
            node = child
        for node, index in path:
            node.total += 1
            node.visits[index] += 1
            node.values[index] += outcome if node.state.to_play == 0 else -outcome

    def _rollout(self, state: State) -> float:
        """Result of random play, first player's view."""
        draws = self._rng.random(_LONGEST_ROLLOUT)
        for draw in draws:
            result = state.result
            if result is not None:
                return result
            actions = state.legal_actions()
            state = state.play(int(actions[int(draw * len(actions))]))
        return 0.0


def _parse(argument: str) -> int | None:
    if argument == "":
        return None
    if not argument.isdecimal() or not 1 <= int(argument) <= 100_000_000:
        raise UserError(f"'mcts:{argument}': write the rollouts a move, e.g. mcts:1000")
    return int(argument)


def _title(argument: str) -> str:
    rollouts = _parse(argument)
    return "mcts" if rollouts is None else f"mcts:{rollouts}"


def _make(argument: str, game: Game) -> MctsPlayer:
    return MctsPlayer(_parse(argument))


kind = PlayerKind(title=_title, make=_make)
