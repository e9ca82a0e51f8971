"""Each formula of the search against numbers computed elsewhere."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerogames import UserError
from zerogames.search import _search
from zerogames.search.settings import PoolSettings, SearchSettings, search_preset


@pytest.mark.parametrize(
    ("settings", "native"),
    [(SearchSettings(), _search.search_defaults()), (PoolSettings(), _search.pool_defaults())],
)
def test_the_native_defaults_are_the_documented_ones(settings, native) -> None:
    assert dataclasses.asdict(settings) == native


def test_unknown_names_are_told() -> None:
    with pytest.raises(UserError, match="did you mean 'gumbel'"):
        search_preset("gumble")
    with pytest.raises(UserError, match="did you mean 'simulations'"):
        search_preset("gumbel", simulation=3)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (SearchSettings(), {100: 1.255, 800: 1.290, 10_000: 1.661, 100_000: 3.056}),
        (search_preset("engine"), {100: 1.755, 800: 1.825, 10_000: 2.639, 100_000: 6.713}),
        (
            SearchSettings(cpuct=1.0, cpuct_factor=0.45, cpuct_base=500.0, puct_visits="katago"),
            {100: 1.082, 800: 1.430, 10_000: 2.370, 100_000: 3.386},
        ),
    ],
)
def test_exploration_constant(settings: SearchSettings, expected: dict[int, float]) -> None:
    for visits, c in expected.items():
        # The tables count the node's own visit, except for KataGo.
        child_visits = visits if settings.puct_visits == "katago" else visits - 1
        root = {"alphazero": child_visits + 1, "lc0": child_visits, "katago": child_visits + 0.01}
        found = _search.exploration(settings, child_visits) / math.sqrt(root[settings.puct_visits])
        assert found == pytest.approx(c, abs=6e-4)


def test_dynamic_exploration() -> None:
    for sigma, factor in ((0.05, 0.311), (0.40, 1.004)):
        square = 0.1**2 + sigma**2
        assert _search.cpuct_stdev_factor(0.85, 0.1, square, 100) == pytest.approx(factor, abs=1e-3)
    assert _search.cpuct_stdev_factor(0.85, 0.1, 0.01, 1) == 1


def test_moves_left_utility_prefers_short_wins_and_long_losses() -> None:
    settings = SearchSettings(moves_left_effect=0.0345)
    assert _search.moves_left_utility(settings, 0.7, 5, 20) == 0
    assert _search.moves_left_utility(settings, 1.0, 10, 20) == pytest.approx(0.027)
    assert _search.moves_left_utility(settings, -1.0, 30, 20) == pytest.approx(0.027)
    assert _search.moves_left_utility(settings, 1.0, 90, 20) == pytest.approx(-0.0345)
    half = 1.6521 * 0.5 - 0.6521 * 0.25
    assert _search.moves_left_utility(settings, 0.9, 10, 20) == pytest.approx(0.027 * half)


def test_temperature_by_half_life() -> None:
    for half_life, expected in (
        (19.0, {0: 0.75, 9: 0.582, 19: 0.45, 38: 0.30, 100: 0.166}),
        (9.0, {0: 0.75, 9: 0.45, 19: 0.289, 38: 0.182, 100: 0.150}),
    ):
        settings = SearchSettings(
            temperature_schedule="half-life",
            temperature=0.75,
            temperature_final=0.15,
            temperature_decay_plies=half_life,
        )
        for ply, temperature in expected.items():
            found = _search.temperature_at(settings, ply)
            assert found == pytest.approx(temperature, abs=6e-4)


def test_temperature_by_steps_and_lines() -> None:
    step = SearchSettings(temperature=0.9, temperature_plies=3, temperature_final=0.2)
    assert [_search.temperature_at(step, ply) for ply in range(5)] == [0.9, 0.9, 0.9, 0.2, 0.2]
    line = dataclasses.replace(step, temperature_schedule="linear", temperature_decay_plies=4.0)
    found = [_search.temperature_at(line, ply) for ply in (0, 3, 4, 5, 6, 7, 50)]
    assert found == pytest.approx([0.9, 0.9, 0.675, 0.45, 0.225, 0.2, 0.2])


SKEWED = [0.6, 0.3, 0.05, 0.03, 0.01, 0.004, 0.003, 0.002, 0.0007, 0.0003]


def test_shaped_noise_shares() -> None:
    shares = _search.dirichlet_alpha_shares(SKEWED, shaped=True)
    assert shares == pytest.approx([0.14854] * 5 + [0.05730] + [0.05] * 4, abs=1e-5)
    alphas = [10.83 * share for share in shares]
    assert alphas == pytest.approx([1.6087] * 5 + [0.6205] + [0.5415] * 4, abs=1e-4)
    assert _search.dirichlet_alpha_shares([0.25] * 4, shaped=True) == [0.25] * 4


@pytest.mark.parametrize("noise", ["dirichlet", "shaped"])
def test_noised_priors_have_the_right_mean(noise) -> None:
    settings = SearchSettings(noise=noise)
    drawn = [_search.noised_priors(settings, SKEWED, seed) for seed in range(4000)]
    assert np.sum(drawn, axis=1) == pytest.approx(1, abs=1e-5)
    shares = np.array(_search.dirichlet_alpha_shares(SKEWED, shaped=noise == "shaped"))
    expected = 0.75 * np.array(SKEWED) + 0.25 * shares
    assert np.mean(drawn, axis=0) == pytest.approx(expected, abs=0.003)


def test_noise_without_a_kind_changes_nothing() -> None:
    same = _search.noised_priors(SearchSettings(noise="none"), SKEWED, 1)
    assert same == pytest.approx(SKEWED)


@pytest.mark.parametrize("shape", [0.1, 0.5, 1.0, 4.5])
def test_gamma_draws_have_mean_and_variance(shape: float) -> None:
    draws = np.array(_search.random_draws("gamma", 7, 40_000, shape))
    assert draws.min() >= 0
    assert draws.mean() == pytest.approx(shape, rel=0.06)
    assert draws.var() == pytest.approx(shape, rel=0.15)


def test_gumbel_and_uniform_draws() -> None:
    gumbel = np.array(_search.random_draws("gumbel", 1, 40_000))
    assert gumbel.mean() == pytest.approx(0.5772, abs=0.02)
    assert gumbel.std() == pytest.approx(math.pi / math.sqrt(6), abs=0.03)
    uniform = np.array(_search.random_draws("uniform", 1, 40_000))
    assert 0 <= uniform.min() < uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("considered", "simulations", "runs", "counts"),
    [
        (2, 8, "0x2 1x2 2x2 3x2", [4, 4]),
        (3, 8, "0x3 1x2 2x2 3x1", [4, 3, 1]),
        (4, 8, "0x4 1x2 2x2", [3, 3, 1, 1]),
        (4, 16, "0x4 1x4 2x2 3x2 4x2 5x2", [6, 6, 2, 2]),
        (5, 20, "0x5 1x2 2x2 3x2 4x2 5x2 6x2 7x2 8x1", [9, 8, 1, 1, 1]),
        (7, 16, "0x7 1x3 2x2 3x2 4x2", [5, 5, 2, 1, 1, 1, 1]),
        (8, 16, "0x8 1x4 2x2 3x2", [4, 4, 2, 2, 1, 1, 1, 1]),
        (16, 16, "0x16", [1] * 16),
        (16, 32, "0x16 1x8 2x4 3x4", [4] * 4 + [2] * 4 + [1] * 8),
        (16, 50, None, [12, 12, 5, 5] + [2] * 4 + [1] * 8),
        (16, 200, None, [49, 49, 21, 21] + [9] * 4 + [3] * 8),
        (16, 800, None, [191, 191, 87, 87] + [37] * 4 + [12] * 8),
    ],
)
def test_sequential_halving(considered, simulations, runs, counts) -> None:
    table = _search.halving_table(considered, simulations)
    assert len(table) == simulations
    if runs is not None:
        expected = [int(v) for run in runs.split() for v in [run.split("x")[0]] * int(run[2:])]
        assert table == expected
    visits = [0] * considered
    for wanted in table:  # the first slot with that count, as if the order never changed
        visits[visits.index(wanted)] += 1
    assert visits == counts
    assert _search.halving_table(1, 4) == [0, 1, 2, 3]


KATAGO = SearchSettings(cpuct=1.1, cpuct_factor=0.0, puct_visits="katago")


def test_policy_target_pruning() -> None:
    priors, visits, values = [0.5, 0.25, 0.15, 0.1], [60, 20, 12, 8], [0.3, 0.1, 0.05, -0.2]
    assert _search.pruned_visits(KATAGO, priors, visits, values) == [60, 9, 4, 1]


@given(
    st.lists(
        st.tuples(st.floats(0.001, 1), st.integers(0, 500), st.floats(-1, 1)),
        min_size=1,
        max_size=20,
    )
)
def test_pruning_never_adds_visits_and_keeps_the_most_visited(rows) -> None:
    priors, visits, values = (list(column) for column in zip(*rows, strict=True))
    pruned = _search.pruned_visits(KATAGO, priors, visits, values)
    assert all(0 <= after <= before for after, before in zip(pruned, visits, strict=True))
    best = visits.index(max(visits))
    assert pruned[best] == visits[best]


def test_lower_confidence_bound() -> None:
    weights = _search.lcb_weights([400, 200], [0.10, 0.16], [0.04, 0.04])
    assert weights == pytest.approx([400, 952.65], abs=0.05)
    few = _search.lcb_weights([400, 20], [0.10, 0.9], [0.04, 0.001])
    assert few == [400, 20]


def test_policy_surprise() -> None:
    assert _search.policy_surprise([0.5, 0.5], [0.5, 0.5]) == 0
    assert _search.policy_surprise([1, 0], [0.25, 0.75]) == pytest.approx(math.log(4))
