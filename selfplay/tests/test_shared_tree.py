"""Visit counts and values on a small tree without ties, computed by mctx and by hand.

Node ids; four actions everywhere and no end. The game is written in Python, so that the adapter for
such games is tested too.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pytest
from numpy.typing import NDArray

from zerogames.search import Search, _search
from zerogames.search.settings import SearchSettings

ROOT_LOGITS = (1.0, 0.5, 0.0, -0.5)


@dataclass(frozen=True)
class TreeState:
    node: int = 1
    plies: int = 0
    first_action: int = -1

    @property
    def to_play(self) -> int:
        return self.plies % 2

    def legal_actions(self) -> NDArray[np.int32]:
        return np.arange(4, dtype=np.int32)

    def is_legal(self, action: int) -> bool:
        return 0 <= action < 4

    def play(self, action: int) -> Self:
        first = action if self.plies == 0 else self.first_action
        return type(self)((3 * self.node + action + 1) % 1009, self.plies + 1, first)

    @property
    def result(self) -> float | None:
        return None

    @property
    def end_reason(self) -> str:
        return ""

    def observe(self, encoding: str, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        planes = (self.node, self.plies, self.first_action)
        return np.array(planes, np.float32).reshape(3, 1, 1)

    @property
    def position_key(self) -> int:
        return (self.node * 1000 + self.plies) * 10 + self.first_action + 1

    observation_key = position_key


Answer = tuple[NDArray[np.float32], NDArray[np.float32]]


def answer(logits: list[list[float]], values: list[float]) -> Answer:
    v = np.array(values)
    wdl = np.stack([(1 + v) / 2, np.zeros_like(v), (1 - v) / 2], axis=1)
    return np.array(logits, np.float32).reshape(-1, 4), wdl.astype(np.float32)


def tree_net(planes: NDArray[np.float32]) -> Answer:
    logits, values = [], []
    for node, plies, _ in planes.reshape(-1, 3).astype(int).tolist():
        if plies == 0:
            logits.append(list(ROOT_LOGITS))
            values.append(0.1)
        else:
            logits.append([((7 * node * (a + 3)) % 11) / 5 - 0.013 * a for a in range(4)])
            values.append(((37 * node % 101) - 50) / 100)
    return answer(logits, values)


def bandit_net(planes: NDArray[np.float32]) -> Answer:
    """Everything below root action a is worth (.2, .5, -.1, .4)[a] to the root's player."""
    logits, values = [], []
    for _, plies, first in planes.reshape(-1, 3).astype(int).tolist():
        logits.append(list(ROOT_LOGITS))
        worth = 0.1 if plies == 0 else (0.2, 0.5, -0.1, 0.4)[first]
        values.append(worth if plies % 2 == 0 else -worth)
    return answer(logits, values)


def tree_search(settings: SearchSettings) -> Search:
    state = _search.PythonGame(TreeState(), 4)
    return state.Search(state, settings, encoding="id")


PLAIN = {"noise": "none", "fpu": "absolute", "fpu_value": 0.0}
ALPHAZERO = SearchSettings(
    **PLAIN, root_fpu="absolute", cpuct=1.25, cpuct_base=19652.0, cpuct_factor=1.0
)
LC0 = SearchSettings(
    noise="none",
    cpuct=1.745,
    cpuct_factor=3.894,
    cpuct_base=38739.0,
    puct_visits="lc0",
    fpu_value=0.33,
    root_fpu="absolute",
    root_fpu_value=1.0,
)
KATAGO = SearchSettings(
    noise="none",
    cpuct=1.1,
    cpuct_factor=0.0,
    cpuct_base=500.0,
    puct_visits="katago",
    fpu_value=0.2,
    root_fpu_value=0.0,
)


@pytest.mark.parametrize(
    ("settings", "simulations", "visits"),
    [
        (ALPHAZERO, 16, [10, 3, 2, 1]),
        (ALPHAZERO, 50, [21, 21, 5, 3]),
        (ALPHAZERO, 100, [52, 33, 11, 4]),
        (LC0, 16, [9, 3, 3, 1]),
        (LC0, 50, [22, 20, 5, 3]),
        (LC0, 100, [55, 29, 11, 5]),
        (KATAGO, 16, [9, 3, 3, 1]),
        (KATAGO, 50, [22, 21, 4, 3]),
        (KATAGO, 100, [41, 44, 11, 4]),
    ],
)
def test_puct_visit_counts(run, settings, simulations, visits) -> None:
    search = tree_search(settings)
    search.start(simulations)
    run(search, tree_net)
    assert search.visits.tolist() == visits
    assert search.simulations == simulations


def test_puct_values(run) -> None:
    search = tree_search(ALPHAZERO)
    search.start(50)
    run(search, tree_net)
    assert search.value == pytest.approx(-0.0241176, abs=1e-7)
    search.start(100)
    run(search, tree_net)
    assert search.value == pytest.approx(-0.0480198, abs=1e-7)
    assert search.values == pytest.approx([-0.028654, -0.033939, -0.137273, -0.2075], abs=1e-6)
    assert search.policy_target == pytest.approx([0.52, 0.33, 0.11, 0.04])


NOISE = [0.3, -0.4, 1.2, 0.1]


def gumbel_order(search: Search, net, noise, simulations: int) -> list[int]:
    """The root action of each simulation in turn."""
    search.fix_gumbels(noise)
    search.start(simulations)
    order = []
    visits = np.zeros(4, int)
    while not search.done:
        search.apply(*net(search.collect(1)))
        now = search.visits
        order += np.flatnonzero(now > visits).tolist()
        visits = now
    return order


@pytest.mark.parametrize(
    ("limits", "order", "visits", "values", "target", "move"),
    [
        (
            (8, 4),
            "02132002",
            [3, 1, 3, 1],
            [-0.02, -0.34, -0.063333, -0.07],
            [0.781260, 0.002365, 0.140218, 0.076156],
            0,
        ),
        (
            (16, 4),
            "0213203102020202",
            [6, 2, 6, 2],
            [-0.073333, -0.12, -0.115, -0.07],
            [0.751411, 0.002448, 0.002599, 0.243541],
            0,
        ),
        (
            (8, 2),
            "02200202",
            [4, 0, 4, 0],
            [-0.105, np.nan, -0.1725, np.nan],
            [0.425808, 0.418929, 0.001148, 0.154115],
            0,
        ),
        (
            (20, 3),
            "02120102102020202202",
            [8, 3, 9, 0],
            [-0.1125, -0.17, -0.008889, np.nan],
            [0.056283, 0.004157, 0.920297, 0.019263],
            2,
        ),
    ],
)
def test_gumbel_on_the_tree(limits, order, visits, values, target, move) -> None:
    simulations, considered = limits
    settings = SearchSettings(algorithm="gumbel", gumbel_considered=considered)
    search = tree_search(settings)
    assert gumbel_order(search, tree_net, NOISE, simulations) == [int(c) for c in order]
    assert search.visits.tolist() == visits
    assert search.values == pytest.approx(values, abs=1e-6, nan_ok=True)
    assert search.policy_target == pytest.approx(target, abs=1e-6)
    assert search.policy_target.sum() == pytest.approx(1)
    assert search.choose() == move


def test_gumbel_root_value() -> None:
    search = tree_search(SearchSettings(algorithm="gumbel", gumbel_considered=4))
    gumbel_order(search, tree_net, NOISE, 16)
    assert search.value == pytest.approx(-0.082941, abs=1e-6)


@pytest.mark.parametrize(
    ("noise", "simulations", "order", "visits", "target"),
    [
        (NOISE, 8, "02131313", [1, 3, 1, 3], [0.091605, 0.786415, 0.002381, 0.119600]),
        (
            NOISE,
            16,
            "0213130213131313",
            [2, 6, 2, 6],
            [0.080389, 0.801817, 0.001798, 0.115995],
        ),
        ([0.0] * 4, 8, "01231313", [1, 3, 1, 3], [0.091605, 0.786415, 0.002381, 0.119600]),
    ],
)
def test_gumbel_on_a_bandit(noise, simulations, order, visits, target) -> None:
    search = tree_search(SearchSettings(algorithm="gumbel", gumbel_considered=4))
    assert gumbel_order(search, bandit_net, noise, simulations) == [int(c) for c in order]
    assert search.visits.tolist() == visits
    assert search.policy_target == pytest.approx(target, abs=1e-6)
    assert search.choose() == 1
    if simulations == 16:
        assert search.value == pytest.approx(0.335294, abs=1e-6)


def test_a_python_game_can_be_advanced(run) -> None:
    search = tree_search(ALPHAZERO)
    search.start(100)
    run(search, tree_net)
    search.advance(1)
    assert search.state == TreeState(5, 1, 1)
    assert search.visits.sum() == 32
