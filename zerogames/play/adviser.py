"""Who plays against the person and gives hints: a net with a search, or plain MCTS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from zerogames.engine.thinker import Thinker
from zerogames.engine.thought import ThinkLimits
from zerogames.evaluate import Evaluator
from zerogames.game import Game, State
from zerogames.nets.spec import NetSpec
from zerogames.search.rollouts import new_rollouts
from zerogames.search.settings import search_preset

LEVELS = (1, 5, 15, 30, 60, 120, 250, 500, 1000, 2000)
"""Nodes a move of the levels 1 to 10."""
ROLLOUTS_PER_NODE = 10
"""Without a net a node is worth less, and costs less."""


@dataclass(frozen=True, kw_only=True)
class MoveAdvice:
    """One legal move; shares are in [0, 1]."""

    action: int
    policy: float | None
    """What the net gives it at first sight; None without a net."""
    visits: float
    """Share of the search."""
    score: float | None
    """Points that who plays it may expect; None if it was not searched."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What is thought of a position, in the view of the player to move."""

    best: int
    score: float
    """Expected points in [0, 1], after the search."""
    first_sight: float | None
    """The same by the net alone."""
    nodes: int
    moves: Sequence[MoveAdvice]
    """The most searched first."""


class Adviser(Protocol):
    """Thinks about positions of one game."""

    @property
    def name(self) -> str:
        """As it is shown."""

    @property
    def nodes(self) -> int:
        """Spent on a move."""

    @nodes.setter
    def nodes(self, nodes: int) -> None: ...

    def set_level(self, level: int) -> None:
        """1 (weakest) to 10."""

    def think(self, start: State, actions: Sequence[int]) -> Advice:
        """About the position after `actions`, which must not be the end of the game."""


class NetAdviser:
    """A net with a search; keeps the tree from move to move."""

    def __init__(
        self,
        name: str,
        game: Game,
        evaluator: Evaluator,
        *,
        nodes: int,
        net: NetSpec | None = None,
    ) -> None:
        """`net` tells which moves the game leaves to it (a Go net may not know passing)."""
        self.name = name
        self.nodes = nodes
        self._game = game
        self._net = net
        self._evaluator = evaluator
        settings = search_preset("engine", cache_mebibytes=64)
        self._thinker = Thinker(game, evaluator, settings=settings)

    def set_level(self, level: int) -> None:
        """By nodes."""
        self.nodes = LEVELS[level - 1]

    def think(self, start: State, actions: Sequence[int]) -> Advice:
        """Search with `nodes`."""
        self._thinker.set_position(start, actions)
        if self._thinker.search.simulations >= self.nodes:
            # A hint or a higher level has searched more: that must not make this level stronger.
            self._thinker.new_game()
        allowed = self._game.sensible_actions(self._thinker.state, self._net)
        limits = ThinkLimits(nodes=self.nodes, allowed=None if allowed is None else tuple(allowed))
        thought = self._thinker.think(limits)
        assert thought.best is not None
        policy, score = self._first_sight(self._thinker.state)
        total = sum(move.visits for move in thought.moves)
        moves = [
            MoveAdvice(
                action=move.action,
                policy=policy[move.action],
                visits=move.visits / total if total else 0.0,
                score=(1 + move.value) / 2 if move.visits else None,
            )
            for move in thought.moves
        ]
        best = thought.moves[0]
        value = best.value if best.visits else thought.value
        return Advice(
            best=thought.best,
            score=(1 + value) / 2,
            first_sight=score,
            nodes=thought.nodes,
            moves=moves,
        )

    def _first_sight(self, state: State) -> tuple[dict[int, float], float]:
        """The net's policy over the legal moves, and its value, without any search."""
        logits, wdl, _ = self._evaluator.evaluate(state.observe(self._evaluator.encoding)[None])
        legal = state.legal_actions()
        weights = np.exp(logits[0, legal] - logits[0, legal].max())
        shares = (weights / weights.sum()).tolist()
        score = float(wdl[0, 0] + wdl[0, 1] / 2)
        return dict(zip(legal.tolist(), shares, strict=True)), score


class RolloutAdviser:
    """Pure MCTS: for games that nobody has trained a net for yet."""

    def __init__(self, game: Game, *, nodes: int, seed: int = 0) -> None:
        self.name = "MCTS without a net"
        self.nodes = nodes
        self._game = game
        self._rng = np.random.default_rng(seed)

    def set_level(self, level: int) -> None:
        """By rollouts."""
        self.nodes = ROLLOUTS_PER_NODE * LEVELS[level - 1]

    def think(self, start: State, actions: Sequence[int]) -> Advice:
        """Play `nodes` random games below a tree."""
        state = start
        for action in actions:
            state = state.play(action)
        tree = new_rollouts(self._game, state, seed=int(self._rng.integers(1 << 62)))
        tree.run(self.nodes)
        order = np.argsort(-tree.visits, kind="stable")
        visits, values, legal = tree.visits, tree.values, tree.actions
        moves = [
            MoveAdvice(
                action=int(legal[row]),
                policy=None,
                visits=float(visits[row]) / max(1, tree.total),
                score=(1 + float(values[row])) / 2 if visits[row] else None,
            )
            for row in order
        ]
        best = int(order[0])
        return Advice(
            best=int(legal[best]),
            score=(1 + float(values[best])) / 2,
            first_sight=None,
            nodes=tree.total,
            moves=moves,
        )
