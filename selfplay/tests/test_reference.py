"""The native search against a plain slow one, which keeps whole states in a tree of objects."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zerogames import get_game
from zerogames.game import State
from zerogames.search import new_search
from zerogames.search.settings import SearchSettings

Net = Callable[[State], tuple[list[float], float]]


class PlainNode:
    """A position; values are the view of its player to move. All actions, also illegal ones."""

    def __init__(self, state: State, net: Net, action_size: int) -> None:
        self.state = state
        self.visits = 1
        self.children: dict[int, PlainNode] = {}
        self.legal = [int(a) for a in state.legal_actions()]
        self.side = -1  # unspecified at the end
        if state.result is not None:
            self.net_value = self.total = math.nan
            return
        self.side = state.to_play
        logits, self.net_value = net(state)
        self.total = self.net_value
        exps = {a: math.exp(logits[a] - max(logits[b] for b in self.legal)) for a in self.legal}
        self.priors = {a: exps[a] / sum(exps.values()) for a in self.legal}

    @property
    def value(self) -> float:
        return self.total / self.visits


class PlainSearch:
    """Recursive, one simulation at a time, no solver, no batching."""

    def __init__(self, state: State, net: Net, action_size: int) -> None:
        self.net, self.action_size = net, action_size
        self.root = PlainNode(state, net, action_size)

    def simulate(self) -> None:
        self._visit(self.root)

    def _visit(self, node: PlainNode) -> float:
        """The value in the view of the player to move in `node`."""
        action = self.select_root(node) if node is self.root else self.select(node)
        if action not in node.children:
            child = PlainNode(node.state.play(action), self.net, self.action_size)
            if child.state.result is not None:
                child.side = 1 - node.side
                child.net_value = child.state.result * (1 if child.side == 0 else -1)
                child.total = child.net_value
            node.children[action] = child
            value = child.net_value
        elif node.children[action].state.result is not None:
            child = node.children[action]
            value = child.net_value
            child.visits += 1
            child.total += value
        else:
            value = self._visit(node.children[action])
        if node.children[action].side != node.side:
            value = -value
        node.visits += 1
        node.total += value
        return value

    @staticmethod
    def q(node: PlainNode, child: PlainNode) -> float:
        """The child's value for the player to move in `node`."""
        return child.value if child.side == node.side else -child.value

    def select(self, node: PlainNode) -> int:
        raise NotImplementedError

    def select_root(self, node: PlainNode) -> int:
        return self.select(node)

    def counts(self) -> list[int]:
        children = self.root.children
        return [children[a].visits if a in children else 0 for a in self.root.legal]


class PlainPuct(PlainSearch):
    def select(self, node: PlainNode) -> int:
        n = node.visits
        c = 1.25 + math.log((n + 19652 + 1) / 19652)
        visited = sum(node.priors[a] for a in node.children)
        reduction = 0.0 if node is self.root else 0.2

        def score(a: int) -> float:
            child = node.children.get(a)
            q = self.q(node, child) if child else node.value - reduction * math.sqrt(visited)
            return q + c * node.priors[a] * math.sqrt(n) / (1 + (child.visits if child else 0))

        return max(node.legal, key=lambda a: (score(a), -a))


class PlainGumbel(PlainSearch):
    def __init__(self, state: State, net: Net, action_size: int, simulations: int) -> None:
        super().__init__(state, net, action_size)
        considered = min(16, len(self.root.legal))
        self.table = plain_halving(considered, simulations)

    def sigmas(self, node: PlainNode) -> dict[int, float]:
        """Of all actions; illegal ones count as unvisited."""
        total = sum(child.visits for child in node.children.values())
        mixed = node.net_value
        if node.children:
            weight = sum(node.priors[a] for a in node.children)
            mean = sum(node.priors[a] * self.q(node, c) for a, c in node.children.items()) / weight
            mixed = (node.net_value + total * mean) / (1 + total)
        q = {
            a: self.q(node, node.children[a]) if a in node.children else mixed
            for a in range(self.action_size)
        }
        low, high = min(q.values()), max(q.values())
        most = max((child.visits for child in node.children.values()), default=0)
        scale = (50 + most) * 0.1 / max(high - low, 1e-6)
        return {a: scale * (q[a] - low) for a in q}

    def improved(self, node: PlainNode) -> dict[int, float]:
        sigma = self.sigmas(node)
        logits = {a: math.log(node.priors[a]) + sigma[a] for a in node.legal}
        highest = max(logits.values())
        exps = {a: math.exp(logits[a] - highest) for a in node.legal}
        return {a: exps[a] / sum(exps.values()) for a in node.legal}

    def select(self, node: PlainNode) -> int:
        policy = self.improved(node)
        total = sum(child.visits for child in node.children.values())

        def score(a: int) -> float:
            visits = node.children[a].visits if a in node.children else 0
            return policy[a] - visits / (1 + total)

        return max(node.legal, key=lambda a: (score(a), -a))

    def select_root(self, node: PlainNode) -> int:
        wanted = self.table[node.visits - 1]
        sigma = self.sigmas(node)
        visits = dict(zip(node.legal, self.counts(), strict=True))
        open_actions = [a for a in node.legal if visits[a] == wanted]
        return max(open_actions, key=lambda a: (math.log(node.priors[a]) + sigma[a], -a))


def plain_halving(considered: int, simulations: int) -> list[int]:
    if considered <= 1:
        return list(range(simulations))
    table: list[int] = []
    visits = [0] * considered
    slots = considered
    while len(table) < simulations:
        for _ in range(max(1, simulations // (math.ceil(math.log2(considered)) * slots))):
            table += visits[:slots]
            visits[:slots] = [n + 1 for n in visits[:slots]]
        slots = max(2, slots // 2)
    return table[:simulations]


def random_position(game, rng: np.random.Generator, plies: int) -> State:
    state = game.initial_state()
    for _ in range(plies):
        after = state.play(int(rng.choice(state.legal_actions())))
        if after.result is not None:
            break
        state = after
    return state


@pytest.mark.parametrize("name", ["connect4", "othello:size=6"])
@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
@given(
    position=st.tuples(st.integers(0, 2**32), st.integers(0, 24)), simulations=st.integers(1, 90)
)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_equals_the_plain_search(run, tiny_net, name, algorithm, position, simulations) -> None:
    seed, plies = position
    game = get_game(name)
    encoding = next(iter(game.encodings))
    evaluate = tiny_net(game.spec.action_size, seed % 1000)
    state = random_position(game, np.random.default_rng(seed), plies)

    def net(position: State) -> tuple[list[float], float]:
        logits, wdl, _ = evaluate(position.observe(encoding)[None])
        return logits[0].tolist(), float(wdl[0, 0] - wdl[0, 2])

    plain: PlainSearch
    if algorithm == "puct":
        plain = PlainPuct(state, net, game.spec.action_size)
    else:
        plain = PlainGumbel(state, net, game.spec.action_size, simulations)
    for _ in range(simulations):
        plain.simulate()

    options = SearchSettings(
        algorithm=algorithm, simulations=simulations, noise="none", gumbel_scale=0.0, solver=False
    )
    search = run(new_search(game, options, state=state), evaluate)
    # Equal scores are told apart by rounding alone; the tiny net makes them very rare.
    assert search.visits.tolist() == plain.counts()
    assert search.value == pytest.approx(plain.root.value, abs=1e-6)
    if algorithm == "gumbel":
        assert isinstance(plain, PlainGumbel)
        target = plain.improved(plain.root)
        assert search.policy_target == pytest.approx(
            [target[a] for a in plain.root.legal], abs=1e-5
        )
