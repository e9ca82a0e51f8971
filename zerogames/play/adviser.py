"""The opponent of the person, which also gives hints: a net with a search, or plain MCTS."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zerogames.engine import NetEngine, ThinkLimits
from zerogames.engine.levels import LEVELS, pick
from zerogames.evaluate import evaluate_states
from zerogames.game import Game, State, play_actions
from zerogames.search import new_rollouts

_ROLLOUTS_PER_CHECK = 256
"""Rollouts between two looks at the signal to stop."""


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

    def __init__(self, name: str, nodes: int, *, seed: int = 0) -> None:
        self.name = name
        """The name that the person is shown."""
        self.nodes = nodes
        """Nodes or rollouts for each move."""
        self.temperature = 0.0
        """How freely `choose` takes other moves than the best."""
        self._rng = np.random.default_rng(seed)

    def set_level(self, level: int) -> None:
        """Set `nodes` and `temperature` by a level from 1 (weakest) to 10."""
        self.nodes = self.nodes_per_node * LEVELS[level - 1].nodes
        self.temperature = LEVELS[level - 1].temperature

    def choose(self, advice: Advice) -> int:
        """Choose the move to play by what a search found."""
        if self.temperature == 0:
            return advice.best
        searched = any(move.visits for move in advice.moves)
        weights = [move.visits if searched else move.policy or 0.0 for move in advice.moves]
        return advice.moves[pick(weights, self.temperature, self._rng)].action

    @abstractmethod
    def think(
        self, start: State, actions: Sequence[int], *, stop: threading.Event | None = None
    ) -> Advice:
        """Search the position after `actions`, where the game must not be over.

        `stop` ends the search early.
        """


class NetAdviser(Adviser):
    """A net with a search, whose tree is kept from move to move."""

    def __init__(self, name: str, engine: NetEngine, *, nodes: int, seed: int = 0) -> None:
        super().__init__(name, nodes, seed=seed)
        self.engine = engine
        """The net and its search, for callers that want to see more than advice."""

    def think(
        self, start: State, actions: Sequence[int], *, stop: threading.Event | None = None
    ) -> Advice:
        """Search with `nodes`."""
        engine = self.engine
        engine.set_position(start, actions)
        if engine.search.simulations >= self.nodes:
            # A hint or a higher level has searched more: that must not make this level stronger.
            engine.new_game()
        thought = engine.think(ThinkLimits(nodes=self.nodes), stop=stop)
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
        super().__init__("MCTS without a net", nodes, seed=seed)
        self._game = game

    def think(
        self, start: State, actions: Sequence[int], *, stop: threading.Event | None = None
    ) -> Advice:
        """Search with `nodes` rollouts."""
        state = play_actions(start, actions)
        tree = new_rollouts(self._game, state, seed=int(self._rng.integers(1 << 62)))
        while tree.total < self.nodes and not (tree.total and stop and stop.is_set()):
            tree.run(min(_ROLLOUTS_PER_CHECK, self.nodes - tree.total))
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
