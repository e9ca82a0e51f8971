"""What a search promises for any game and any net."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from zerogames import UserError, get_game
from zerogames.evaluate import RandomEvaluator
from zerogames.search import Search, new_search
from zerogames.search.settings import SearchSettings, search_preset

CONNECT4 = get_game("connect4")
PLAIN = SearchSettings(noise="none", simulations=200)
WIN_IN_ONE = "7/7/7/3xo2/3xo2/3xo2 x"
"""x plays column 4 (action 3)."""
FEW_EXAMPLES = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def check_tree(search: Search) -> None:
    """Every mean is what its children's means say; every bound too."""
    columns = search.tree()
    parent, visits, value = columns["parent"][1:], columns["visits"], columns["value"]
    low, high = columns["low"], columns["high"]
    count = len(visits)
    below = np.bincount(parent, visits[1:], count)
    total = columns["net_value"] - np.bincount(parent, visits[1:] * value[1:], count)
    has_open = np.bincount(parent, minlength=count) < columns["num_legal"]
    expected_low = np.full(count, -1)
    np.maximum.at(expected_low, parent, -high[1:])
    expected_high = np.where(has_open, 1, -1)
    np.maximum.at(expected_high, parent, -low[1:])

    inner = columns["num_legal"] > 0
    assert (low[inner] == expected_low[inner]).all()
    assert (high[inner] == expected_high[inner]).all()
    exact = inner & (low == high)
    exact[0] = False
    assert (value[exact] == low[exact]).all()
    mean = inner & ~exact
    assert (visits[mean] == 1 + below[mean]).all()
    assert value[mean] == pytest.approx(total[mean] / visits[mean], abs=1e-5)


def random_text(seed: int, plies: int) -> str:
    """A position after `plies` random moves, or fewer if every move would end the game."""
    rng = np.random.default_rng(seed)
    state = CONNECT4.initial_state()
    for _ in range(plies):
        nexts = [state.play(int(action)) for action in state.legal_actions()]
        nexts = [after for after in nexts if after.result is None]
        if not nexts:
            break
        state = nexts[rng.integers(len(nexts))]
    return CONNECT4.format_state(state)


@given(seed=st.integers(0, 10**6), plies=st.integers(0, 34), batch=st.integers(1, 20))
@FEW_EXAMPLES
def test_the_tree_is_consistent(run, tiny_net, seed, plies, batch) -> None:
    state = CONNECT4.parse_state(random_text(seed, plies))
    search = run(new_search(CONNECT4, PLAIN, state=state), tiny_net(7, seed), batch)
    check_tree(search)
    assert search.actions.tolist() == state.legal_actions().tolist()
    assert search.policy_target.sum() == pytest.approx(1)
    if search.proven is None:
        assert search.visits.sum() == search.simulations == 200
    assert state.is_legal(search.choose())
    line = state
    for action in search.principal_variation():
        line = line.play(int(action))


@given(seed=st.integers(0, 10**6), plies=st.integers(0, 20))
@FEW_EXAMPLES
def test_reused_trees_stay_consistent(run, tiny_net, seed, plies) -> None:
    state = CONNECT4.parse_state(random_text(seed, plies))
    net = tiny_net(7, seed)
    options = search_preset("alphazero", simulations=100)
    search = run(new_search(CONNECT4, options, state=state, seed=seed), net, 8)
    while not (search.done and search.state.result is not None):
        before = dict(zip(search.actions.tolist(), search.visits.tolist(), strict=True))
        action = search.choose()
        search.advance(action)
        if search.state.result is not None:
            break
        assert search.visits.sum() <= max(0, before[action] - 1)
        run(search, net, 8)
        check_tree(search)


def test_noise_goes_with_its_root(run, tiny_net) -> None:
    net = tiny_net(7)
    search = run(new_search(CONNECT4, search_preset("alphazero", simulations=60)), net)
    assert np.abs(search.priors - search.raw_priors).max() > 0.01
    action = int(search.actions[search.visits.argmax()])
    search.advance(action)
    search.start(explore=False)
    run(search, net)
    logits, _, _ = net(search.state.observe("stones")[None])
    expected = np.exp(logits[0]) / np.exp(logits[0]).sum()
    assert search.raw_priors == pytest.approx(expected, abs=1e-6)
    assert search.priors == pytest.approx(expected, abs=1e-6)


def test_noise_is_drawn_once_per_search_and_leaves_the_cache_alone(run, tiny_net) -> None:
    net = tiny_net(7)
    search = run(new_search(CONNECT4, search_preset("alphazero", simulations=10)), net)
    first = search.priors
    search.set_position(search.state)
    misses = search.cache_misses
    run(search, net)
    assert search.cache_hits > 0
    assert search.cache_misses - misses < 10
    assert not np.array_equal(search.priors, first)
    logits, _, _ = net(search.state.observe("stones")[None])
    assert search.raw_priors == pytest.approx(np.exp(logits[0]) / np.exp(logits[0]).sum(), abs=1e-6)


def test_a_new_net_version_misses_the_cache(run, tiny_net) -> None:
    search = run(new_search(CONNECT4, PLAIN), tiny_net(7))
    values = search.values
    search.set_position(search.state)
    run(search, tiny_net(7, 99))
    assert np.array_equal(search.values, values), "every answer came from the cache"
    search.net_version = 1
    search.set_position(search.state)
    run(search, tiny_net(7, 99))
    assert not np.array_equal(search.values, values)


def test_gumbel_noise_follows_the_temperature_of_the_ply(run, tiny_net) -> None:
    net = tiny_net(7)
    settings = search_preset(
        "gumbel", simulations=16, temperature=1.0, temperature_plies=1, temperature_final=0.0
    )

    def choices(state) -> set[int]:
        searches = [new_search(CONNECT4, settings, state=state, seed=seed) for seed in range(30)]
        return {run(search, net).choose() for search in searches}

    first = CONNECT4.initial_state()
    assert len(choices(first)) > 1
    assert len(choices(first.play(3))) == 1


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
@pytest.mark.parametrize("mebibytes", [0, 1, 64])
def test_the_cache_changes_no_result(run, tiny_net, algorithm, mebibytes) -> None:
    settings = dataclasses.replace(PLAIN, algorithm=algorithm, cache_mebibytes=mebibytes)
    search = run(new_search(CONNECT4, settings), tiny_net(7))
    other = dataclasses.replace(settings, cache_mebibytes=8)
    reference = run(new_search(CONNECT4, other), tiny_net(7))
    assert np.array_equal(search.visits, reference.visits)
    assert np.array_equal(search.values, reference.values)


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
def test_the_same_seed_gives_the_same_tree(run, tiny_net, algorithm) -> None:
    settings = search_preset("alphazero", algorithm=algorithm, simulations=100)
    trees = [
        run(new_search(CONNECT4, settings, seed=seed), tiny_net(7)).tree() for seed in (4, 4, 5)
    ]
    assert all(np.array_equal(trees[0][name], trees[1][name]) for name in trees[0])
    assert not np.array_equal(trees[0]["visits"], trees[2]["visits"])


def test_batches_cost_little(run, tiny_net) -> None:
    """Virtual losses spread a batch, but the best move still gets many visits."""
    one = run(new_search(CONNECT4, PLAIN), tiny_net(7), 1)
    many = run(new_search(CONNECT4, PLAIN), tiny_net(7), 16)
    assert many.simulations == one.simulations == 200
    assert many.visits[one.visits.argmax()] > 200 / 7


def test_a_batch_holds_different_leaves_and_collisions_are_bounded(tiny_net) -> None:
    settings = dataclasses.replace(PLAIN, cache_mebibytes=0, simulations=400)
    search = new_search(CONNECT4, settings)
    net = tiny_net(7)
    while not search.done:
        planes = search.collect(32)
        assert len(np.unique(planes.reshape(len(planes), -1), axis=0)) >= 0.8 * len(planes)
        search.apply(*net(planes))
    check_tree(search)


def test_a_constant_net_explores_evenly() -> None:
    search = new_search(CONNECT4, dataclasses.replace(PLAIN, simulations=70))
    search.run_constant()
    assert search.visits.tolist() == [10] * 7
    assert search.value == 0
    assert search.draw == 1


def test_planes_are_not_encoded_when_not_needed(tiny_net) -> None:
    search = new_search(CONNECT4, PLAIN, needs_observation=False)
    out = np.full((4, 3, 6, 7), 7, np.float32)
    while not search.done:
        rows = len(search.collect(4, out))
        search.apply(np.zeros((rows, 7), np.float32), np.full((rows, 3), 1 / 3, np.float32))
    assert (out == 7).all()
    native = new_search(CONNECT4, PLAIN)
    native.run_constant((1 / 3, 1 / 3, 1 / 3))
    assert search.visits.sum() == native.visits.sum()


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
@given(seed=st.integers(0, 10**6))
@FEW_EXAMPLES
def test_a_win_in_one_is_found_with_any_net(run, tiny_net, algorithm, seed) -> None:
    settings = search_preset("alphazero", algorithm=algorithm, simulations=300)
    state = CONNECT4.parse_state(WIN_IN_ONE)
    search = run(new_search(CONNECT4, settings, state=state, seed=seed), tiny_net(7, seed))
    assert search.choose() == 3
    assert search.proven == 1
    assert search.simulations < 300, "a proven root ends the search"
    assert search.policy_target[3] == 1


def test_a_mate_in_one_is_found_in_chess(run) -> None:
    chess = get_game("chess")

    def net(planes):
        rows = len(planes)
        logits = np.tile(np.sin(np.arange(1858.0) + seed), (rows, 1))
        value = 0.5 * np.sin(planes.sum((1, 2, 3)) + seed)
        wdl = np.stack([(1 + value) / 2, 0 * value, (1 - value) / 2], axis=1)
        return logits.astype(np.float32), wdl.astype(np.float32)

    state = chess.parse_state("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
    for seed in range(5):
        options = search_preset("alphazero", simulations=400)
        search = new_search(chess, options, state=state, seed=seed)
        run(search, net, 8)
        assert chess.format_action(state, search.choose()) in ("a1a8", "Ra8#")


def minimax(state, memory) -> int:
    """For the player to move."""
    if state.result is not None:
        return int(state.result) * (1 if state.to_play == 0 else -1)
    key = state.position_key
    if key not in memory:
        memory[key] = max(-minimax(state.play(int(a)), memory) for a in state.legal_actions())
    return memory[key]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_what_is_proven_is_true(seed) -> None:
    text = random_text(seed, 35)
    assume(sum(text.count(stone) for stone in "xo") >= 34)  # x or o to move counts too
    state = CONNECT4.parse_state(text)
    memory: dict[int, int] = {}
    options = search_preset("alphazero", simulations=1500)
    search = new_search(CONNECT4, options, state=state)
    search.run_constant()
    truth = minimax(state, memory)
    if search.proven is not None:
        assert search.proven == truth
        assert minimax(state.play(search.choose(0)), memory) == -truth
    for action, low, high in zip(
        search.actions, search.lower_bounds, search.upper_bounds, strict=True
    ):
        assert low <= -minimax(state.play(int(action)), memory) <= high
    check_tree(search)


def test_a_proof_counts_plies() -> None:
    state = CONNECT4.parse_state(WIN_IN_ONE)
    search = new_search(CONNECT4, PLAIN, state=state)
    search.run_constant()
    assert search.moves_left_of_actions[3] == 1


def test_early_stop_saves_visits_but_not_the_move(run, tiny_net) -> None:
    net = tiny_net(7)
    long = run(new_search(CONNECT4, PLAIN), net)
    short = run(new_search(CONNECT4, dataclasses.replace(PLAIN, early_stop=True)), net)
    assert short.simulations < 200
    assert short.choose(0) == long.choose(0)


def test_forced_playouts_visit_what_the_prior_asks_for(run, tiny_net) -> None:
    settings = search_preset("katago", simulations=300, full_share=1.0)
    search = run(new_search(CONNECT4, settings, seed=3), tiny_net(7))
    wanted = np.sqrt(2 * search.priors * (search.simulations - 1))
    visited = search.visits > 0
    assert (search.visits[visited] >= np.floor(wanted[visited])).all()
    assert (search.policy_target <= search.visits / search.visits.max()).all()


def test_a_draw_score_shifts_drawn_values(run) -> None:
    def drawn(planes):
        rows = len(planes)
        wdl = np.tile(np.array([0, 1, 0], np.float32), (rows, 1))
        return np.zeros((rows, 7), np.float32), wdl

    options = dataclasses.replace(PLAIN, draw_score=-0.25)
    search = run(new_search(CONNECT4, options), drawn)
    assert search.value == pytest.approx(-0.25)
    assert search.draw == pytest.approx(1)


def test_temperature_spreads_the_choice(run, tiny_net) -> None:
    search = run(new_search(CONNECT4, PLAIN), tiny_net(7))
    shares = search.visits / search.visits.sum()
    drawn = np.bincount([search.choose(1.0) for _ in range(4000)], minlength=7) / 4000
    assert drawn == pytest.approx(shares, abs=0.035)
    cold = {search.choose(0.0) for _ in range(20)}
    assert cold == {int(search.actions[search.visits.argmax()])}


def test_wrong_use_is_named() -> None:
    search = new_search(CONNECT4, PLAIN)
    with pytest.raises(UserError, match="not evaluated"):
        search.choose()
    search.collect(1)
    with pytest.raises(UserError, match="apply the collected batch first"):
        search.advance(0)
    with pytest.raises(UserError, match=r"wdl .* shape \(1, 3\)"):
        search.apply(np.zeros((1, 7), np.float32), np.zeros((2, 3), np.float32))
    search.apply(np.zeros((1, 7), np.float32), np.full((1, 3), 1 / 3, np.float32))
    with pytest.raises(UserError, match="action 7 is not legal"):
        search.advance(7)
    with pytest.raises(UserError, match="max_batch"):
        search.collect(0)
    with pytest.raises(UserError, match="algorithm must be one of: puct, gumbel"):
        new_search(CONNECT4, dataclasses.replace(PLAIN, algorithm="uct"))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="simulations has the wrong type"):
        new_search(CONNECT4, dataclasses.replace(PLAIN, simulations="many"))  # type: ignore[arg-type]
    over = CONNECT4.parse_state("7/7/x6/x6/xo5/xoo4 o")
    search.set_position(over)
    assert search.done
    assert len(search.collect(4)) == 0


def test_repetitions_count_as_draws_only_while_their_first_occurrence_is_searched(run) -> None:
    """Kings that can only walk: play on, and the draws of positions left behind must vanish."""
    chess = get_game("chess")
    net = RandomEvaluator(chess).evaluate
    options = search_preset("engine", simulations=800, early_stop=False, two_fold_draws=True)
    start = chess.parse_state("k7/8/8/p7/P7/8/8/K7 w - - 0 1")
    search = run(new_search(chess, options, state=start), net)
    forgotten = 0
    for _ in range(6):
        check_tree(search)
        before = draws_by_repetition(search)
        assert before > 0
        kept = search.tree_size
        search.advance(int(search.actions[np.argmax(search.visits)]))
        check_tree(search)
        forgotten += kept > search.tree_size and draws_by_repetition(search) < before
        run(search, net)
    assert forgotten > 0


def draws_by_repetition(search: Search) -> int:
    """Leaves that are certain draws; nothing else ends a game in this position so early."""
    columns = search.tree()
    ended = (columns["num_legal"] == 0) & (columns["visits"] > 0)
    return int((ended & (columns["low"] == 0) & (columns["high"] == 0)).sum())


GOLDEN = Path(__file__).parent / "golden_trees.json"


def golden_tree(run, tiny_net, name: str, preset: str) -> dict[str, list[float]]:
    game = get_game(name)
    options = search_preset(preset, simulations=60, full_share=1.0)
    search = run(new_search(game, options, seed=11), tiny_net(game.spec.action_size))
    columns = search.tree()
    return {
        "parent": columns["parent"].tolist(),
        "action": columns["action"].tolist(),
        "visits": columns["visits"].tolist(),
        "value": [round(float(value), 5) for value in columns["value"]],
        "target": [round(float(p), 5) for p in search.policy_target],
    }


@pytest.mark.parametrize("name", ["connect4", "othello:size=6"])
@pytest.mark.parametrize("preset", ["alphazero", "gumbel", "katago", "engine"])
def test_golden_trees(run, tiny_net, name, preset) -> None:
    """The trees stay as they were; delete the file to write it anew after a wanted change."""
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    found = golden_tree(run, tiny_net, name, preset)
    key = f"{name} {preset}"
    if key not in golden:
        GOLDEN.write_text(json.dumps(golden | {key: found}, sort_keys=True))
        pytest.fail(f"{key} was missing and is written now; check it and run again")
    for column in ("parent", "action", "visits"):
        assert found[column] == golden[key][column]
    assert found["value"] == pytest.approx(golden[key]["value"], abs=1e-4)
    assert found["target"] == pytest.approx(golden[key]["target"], abs=1e-4)


@given(
    seed=st.integers(0, 10**6),
    plies=st.integers(0, 34),
    batch=st.integers(1, 12),
    under_way=st.integers(2, 4),
)
@FEW_EXAMPLES
def test_batches_under_way_together_leave_a_consistent_tree(
    tiny_net, seed, plies, batch, under_way
) -> None:
    state = CONNECT4.parse_state(random_text(seed, plies))
    search, evaluate = new_search(CONNECT4, PLAIN, state=state), tiny_net(7, seed)
    shape = CONNECT4.spec.observation_shape
    asked: list[np.ndarray] = []
    most = 0
    while not search.done:
        while len(asked) < under_way:
            planes = search.collect(batch, np.empty((batch, *shape), np.float32))
            if not len(planes):
                break
            asked.append(planes)
        most = max(most, len(asked))
        if asked:
            search.apply(*evaluate(asked.pop(0)))
    assert not asked
    check_tree(search)
    assert search.simulations <= PLAIN.simulations
    assert search.simulations == PLAIN.simulations or search.proven is not None
    assert most == under_way or search.proven is not None


def test_a_second_batch_needs_room_of_its_own(tiny_net) -> None:
    search = new_search(CONNECT4, PLAIN)
    search.apply(*tiny_net(7)(search.collect(1)))
    first = search.collect(2, np.empty((2, *CONNECT4.spec.observation_shape), np.float32))
    with pytest.raises(UserError, match="an array of its own"):
        search.collect(2)
    second = search.collect(3, np.empty((3, *CONNECT4.spec.observation_shape), np.float32))
    assert (len(first), len(second)) == (2, 3)
    with pytest.raises(UserError, match=r"shape \(2, 7\)"):
        search.apply(*tiny_net(7)(second))
    search.apply(*tiny_net(7)(first))
    with pytest.raises(UserError, match="apply the collected batch first"):
        search.advance(0)
    search.apply(*tiny_net(7)(second))
    search.advance(0)
