"""The opponent of the person, which also gives hints: a net with a search, or plain MCTS."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerogames.engine import NetEngine, ThinkLimits
from zerogames.evaluate import evaluate_states
from zerogames.game import Game, State, play_actions
from zerogames.search import new_rollouts

LEVELS = (1, 5, 15, 30, 60, 120, 250, 500, 1000, 2000)
"""Nodes for each move at the levels 1 to 10."""


@dataclass(frozen=True, kw_only=True)
class MoveAdvice:
    """One legal move; shares are in [0, 1]."""

    action: int
    policy: float | None
    """The net's prior; None without a net."""
    visits: float
    """Share of the search."""
    score: float | None
    """Expected points of the player who makes the move; None if it was not searched."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a search found of a position, in the view of the player to move."""

    score: float
    """Expected points in [0, 1], after the search."""
    net_score: float | None
    """Expected points by the net alone, without search; None without a net."""
    nodes: int
    moves: Sequence[MoveAdvice]
    """The best first, then the most searched."""

    @property
    def best(self) -> int:
        """The move to play."""
        return self.moves[0].action


class Adviser(ABC):
    """Searches positions of one game."""

    nodes_per_node: ClassVar[int] = 1
    """Nodes for each node of a level."""

    def __init__(self, name: str, nodes: int) -> None:
        self.name = name
        """The name that the person is shown."""
        self.nodes = nodes
        """Nodes or rollouts for each move."""

    def set_level(self, level: int) -> None:
        """Set `nodes` by a level from 1 (weakest) to 10."""
        self.nodes = self.nodes_per_node * LEVELS[level - 1]

    @abstractmethod
    def think(self, start: State, actions: Sequence[int]) -> Advice:
        """Search the position after `actions`, where the game must not be over."""


class NetAdviser(Adviser):
    """A net with a search, whose tree is kept from move to move."""

    def __init__(self, name: str, engine: NetEngine, *, nodes: int) -> None:
        super().__init__(name, nodes)
        self._engine = engine

    def think(self, start: State, actions: Sequence[int]) -> Advice:
        """Search with `nodes`."""
        engine = self._engine
        engine.set_position(start, actions)
        if engine.search.simulations >= self.nodes:
            # A hint or a higher level has searched more: that must not make this level stronger.
            engine.new_game()
        thought = engine.think(ThinkLimits(nodes=self.nodes))
        (net,) = evaluate_states(engine.evaluator, [engine.state])
        total = sum(move.visits for move in thought.moves)
        moves = [
            MoveAdvice(
                action=move.action,
                policy=net.policy[move.action],
                visits=move.visits / total if total else 0.0,
                score=(1 + move.value) / 2 if move.visits else None,
            )
            for move in thought.moves
        ]
        best = thought.moves[0]
        value = best.value if best.visits else thought.value
        return Advice(
            score=(1 + value) / 2,
            net_score=net.wdl[0] + net.wdl[1] / 2,
            nodes=thought.nodes,
            moves=moves,
        )


class RolloutAdviser(Adviser):
    """Plain MCTS, for games without a net."""

    nodes_per_node = 10
    """A node without a net is weaker and cheaper."""

    def __init__(self, game: Game, *, nodes: int, seed: int = 0) -> None:
        super().__init__("MCTS without a net", nodes)
        self._game = game
        self._rng = np.random.default_rng(seed)

    def think(self, start: State, actions: Sequence[int]) -> Advice:
        """Search with `nodes` rollouts."""
        state = play_actions(start, actions)
        tree = new_rollouts(self._game, state, seed=int(self._rng.integers(1 << 62)))
        tree.run(self.nodes)
        legal, visits, values = tree.actions, tree.visits, tree.values
        moves = [
            MoveAdvice(
                action=int(legal[row]),
                policy=None,
                visits=float(visits[row]) / max(1, tree.total),
                score=(1 + float(values[row])) / 2 if visits[row] else None,
            )
            for row in np.argsort(-visits, kind="stable")
        ]
        score = (1 + float(values[np.argmax(visits)])) / 2
        return Advice(score=score, net_score=None, nodes=tree.total, moves=moves)
