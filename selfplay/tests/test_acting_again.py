"""A side may act several times in a row: values go by side, not by the parity of the depth."""

import dataclasses

import numpy as np
import pytest
from pairs import ACTIONS, Pairs, minimax, random_position
from test_reference import PlainGumbel, PlainPuct, PlainSearch

from zerogames.search import Pool, PoolGames, Search, _search, take_finished
from zerogames.search.settings import PoolSettings, SearchSettings

PLAIN = SearchSettings(noise="none", simulations=200, gumbel_scale=0.0, cache_mebibytes=0)


def new_search(state: Pairs, settings: SearchSettings = PLAIN) -> Search:
    bound = _search.PythonGame(state, ACTIONS)
    return bound.Search(bound, settings, encoding="stones")


@pytest.mark.parametrize("plies", [9, 10])
def test_what_is_proven_is_the_result_under_perfect_play(run, tiny_net, plies: int) -> None:
    rng = np.random.default_rng(plies)
    proven = set()
    for _ in range(5):
        state = random_position(rng, plies)
        search = run(
            new_search(state, dataclasses.replace(PLAIN, simulations=600)), tiny_net(ACTIONS)
        )
        for action, low, high in zip(
            search.actions, search.lower_bounds, search.upper_bounds, strict=True
        ):
            value = minimax(state.play(int(action))) * (1 if state.to_play == 0 else -1)
            assert low <= value <= high
        if search.proven is not None:
            proven.add(search.proven)
            assert search.proven == minimax(state) * (1 if state.to_play == 0 else -1)
            best = search.choose(0.0)
            assert minimax(state.play(best)) == minimax(state)
    assert proven, "some positions are small enough"


@pytest.mark.parametrize("algorithm", ["puct", "gumbel"])
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_plain_search(run, tiny_net, algorithm: str, seed: int) -> None:
    evaluate = tiny_net(ACTIONS, seed)
    state = random_position(np.random.default_rng(seed), seed + 1)

    def net(position: Pairs) -> tuple[list[float], float]:
        logits, wdl, _ = evaluate(position.observe("stones")[None])
        return logits[0].tolist(), float(wdl[0, 0] - wdl[0, 2])

    plain: PlainSearch
    if algorithm == "puct":
        plain = PlainPuct(state, net, ACTIONS)
    else:
        plain = PlainGumbel(state, net, ACTIONS, 120)
    for _ in range(120):
        plain.simulate()
    options = dataclasses.replace(PLAIN, algorithm=algorithm, simulations=120, solver=False)
    search = run(new_search(state, options), evaluate)
    assert search.visits.tolist() == plain.counts()
    assert search.value == pytest.approx(plain.root.value, abs=1e-6)


@pytest.mark.parametrize("batch", [1, 7])
def test_every_mean_is_what_its_children_say_in_the_view_of_its_player(
    run, tiny_net, batch: int
) -> None:
    search = run(new_search(Pairs()), tiny_net(ACTIONS), batch)
    search.advance(search.choose(0.0))  # Reuse of the tree recomputes the root.
    run(search, tiny_net(ACTIONS), batch)
    tree = search.tree()
    parent, visits, side = tree["parent"], tree["visits"], tree["side"]
    assert (side[1:] == side[parent[1:]]).any()
    assert (side[1:] != side[parent[1:]]).any()
    totals, counts = tree["net_value"].astype(float), np.ones(len(parent))
    for node in range(1, len(parent)):
        sign = 1 if side[node] == side[parent[node]] else -1
        totals[parent[node]] += sign * visits[node] * tree["value"][node]
        counts[parent[node]] += visits[node]
    inner = (tree["num_legal"] > 0) & (tree["low"] != tree["high"])
    assert tree["value"][inner] == pytest.approx(totals[inner] / counts[inner], abs=1e-5)


def test_moves_left_counts_turns() -> None:
    # Both stones of a turn complete the bottom row: one turn, two actions.
    state = Pairs((0b0011 | 1 << 9, 0b1100_0000_0010_0000))
    assert state.to_play == 1
    state = state.play(12)
    assert (state.plies, state.to_play) == (7, 0)
    search = new_search(state, dataclasses.replace(PLAIN, simulations=1500))
    while not search.done:
        planes = search.collect(8)
        rows = len(planes)
        wdl = np.tile(np.array([0.3, 0.4, 0.3], np.float32), (rows, 1))
        search.apply(np.zeros((rows, ACTIONS), np.float32), wdl, np.full(rows, 9, np.float32))
    assert search.proven == 1
    assert search.principal_variation().tolist() in ([2, 3], [3, 2])
    best = search.actions.tolist().index(search.choose(0.0))
    assert search.moves_left_of_actions[best] == 1


def new_pool(settings: SearchSettings, options: PoolSettings, num_games: int) -> Pool:
    bound = _search.PythonGame(Pairs(), ACTIONS)
    games = PoolGames(num_games=num_games)
    return bound.Pool(bound, settings, options, games, encoding="stones")


def test_the_side_that_resigns_loses(play, tiny_net) -> None:
    options = PoolSettings(resign_value=-0.2, resign_turns=1, never_resign_share=0.5)
    settings = dataclasses.replace(PLAIN, simulations=6, noise="dirichlet")
    pool = new_pool(settings, options, 24)
    games = play(pool, tiny_net(ACTIONS))

    def side_at(ply: int) -> int:
        return (ply + 1) // 2 % 2

    resigned = [game for game in games if game.reason == "resignation"]
    assert {side_at(len(game.actions)) for game in resigned} == {0, 1}
    for game in resigned:
        assert game.result == (-1 if side_at(len(game.actions)) == 0 else 1)
    would = [game for game in games if game.never_resign and game.would_resign_ply >= 0]
    wrong = [g for g in would if g.result * (1, -1)[side_at(g.would_resign_ply)] > -1]
    assert (pool.num_would_resign, pool.num_wrong_resigns) == (len(would), len(wrong))


def test_resignation_counts_turns_not_actions() -> None:
    """The first player is losing all the time, and gives up at its third turn."""
    settings = dataclasses.replace(PLAIN, simulations=20, temperature=0.0)
    options = PoolSettings(resign_value=-0.5, resign_turns=3, never_resign_share=0.0)
    pool = new_pool(settings, options, 1)
    games = []
    while not pool.done:
        planes = pool.collect()
        plies = planes[:, :2].sum(axis=(1, 2, 3))
        wins = ((plies + 1) // 2 % 2).astype(np.float32)
        wdl = np.stack([wins, np.zeros_like(wins), 1 - wins], axis=1)
        pool.apply(np.zeros((len(planes), ACTIONS), np.float32), wdl, np.ones_like(wins))
        games += take_finished(pool)
    (game,) = games
    assert (game.reason, game.result, len(game.actions)) == ("resignation", -1, 7)
