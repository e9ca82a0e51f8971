"""Games played in step: independent of how many run at once, complete, legal."""

import dataclasses

import numpy as np
import pytest

from zerogames import UserError, get_game
from zerogames.data.record import SEARCH_KINDS
from zerogames.errors import PythonRulesWarning
from zerogames.search import FinishedGame, PoolGames, adapter, new_pool, new_rollouts, new_search
from zerogames.search.settings import PoolSettings, SearchSettings, search_preset

CONNECT4 = get_game("connect4")
SMALL = search_preset("alphazero", simulations=24, cache_mebibytes=1)


def assert_same_game(a: FinishedGame, b: FinishedGame) -> None:
    for field in dataclasses.fields(a):
        if field.name != "search":
            assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name
    for field in dataclasses.fields(a.search):
        one, other = getattr(a.search, field.name), getattr(b.search, field.name)
        if field.name == "values":
            for name in one:
                assert np.array_equal(one[name], other[name], equal_nan=True), name
        else:
            assert np.array_equal(one, other, equal_nan=True), field.name


@pytest.mark.parametrize("preset", ["alphazero", "gumbel", "katago"])
def test_games_do_not_depend_on_how_many_run_at_once(play, tiny_net, preset) -> None:
    settings = search_preset(preset, simulations=20, fast_simulations=6, cache_mebibytes=1)
    options = {"random_plies_max": 3, "policy_plies_mean": 1.5, "resign_value": -0.6}
    played = [
        play(
            new_pool(
                CONNECT4,
                settings,
                PoolSettings(parallel_games=n, **options),
                PoolGames(num_games=12),
            ),
            tiny_net(7),
        )
        for n in (1, 5, 16)
    ]
    assert [game.index for game in played[0]] == list(range(12))
    for games in played[1:]:
        for one, other in zip(played[0], games, strict=True):
            assert_same_game(one, other)


def test_lanes_share_the_games_of_one_seed(play, tiny_net) -> None:
    pools = PoolSettings(parallel_games=4)
    together = play(new_pool(CONNECT4, SMALL, pools, PoolGames(seed=5, num_games=6)), tiny_net(7))
    lanes = [
        play(
            new_pool(
                CONNECT4, SMALL, pools, PoolGames(seed=5, num_games=3, first_game=lane, game_step=2)
            ),
            tiny_net(7),
        )
        for lane in (0, 1)
    ]
    split = sorted(lanes[0] + lanes[1], key=lambda game: game.index)
    for one, other in zip(together, split, strict=True):
        assert_same_game(one, other)
    different = play(new_pool(CONNECT4, SMALL, pools, PoolGames(seed=6, num_games=6)), tiny_net(7))
    assert any(
        not np.array_equal(a.actions, b.actions) for a, b in zip(together, different, strict=True)
    )


@pytest.mark.parametrize("name", ["connect4", "othello:size=4"])
@pytest.mark.parametrize("preset", ["alphazero", "gumbel", "katago"])
def test_games_are_legal_and_their_columns_fit(play, tiny_net, name, preset) -> None:
    game = get_game(name)
    settings = search_preset(preset, simulations=20, fast_simulations=8)
    pool = new_pool(
        game, settings, PoolSettings(parallel_games=8, random_plies_max=2), PoolGames(num_games=9)
    )
    for finished in play(pool, tiny_net(game.spec.action_size)):
        record = finished.record(game, net="tiny")
        final = record.final_state(game)
        assert final.result == finished.result
        assert finished.reason == final.end_reason
        columns = finished.search
        columns.check(len(finished.actions))
        state = game.initial_state()
        for ply, action in enumerate(finished.actions):
            actions, visits, target = columns.policy(ply)
            kind = SEARCH_KINDS[columns.kinds[ply]]
            if kind in ("full", "fast", "proved"):
                assert set(actions) <= set(state.legal_actions())
                assert visits.sum() == finished.simulations[ply]
                assert target.sum() == pytest.approx(1, abs=1e-4)
                assert -1 <= columns.values["root_q"][ply] <= 1
                if kind == "full":
                    assert finished.simulations[ply] >= 20
            else:
                assert kind == "random"
                assert len(actions) == 0
            state = state.play(int(action))


def test_a_fast_search_is_marked_and_cheap(play, tiny_net) -> None:
    settings = search_preset("katago", simulations=40, fast_simulations=10, full_share=0.5)
    games = play(new_pool(CONNECT4, settings, PoolSettings(), PoolGames(num_games=8)), tiny_net(7))
    kinds = np.concatenate([game.search.kinds for game in games])
    counts = np.concatenate([game.simulations for game in games])
    assert (counts[kinds == 0] == 40).all()
    assert 0.3 < (kinds == 0).mean() / np.isin(kinds, (0, 1)).mean() < 0.7
    assert counts[kinds == 1].min() >= 10


def test_start_positions_are_used(play, tiny_net) -> None:
    starts = [CONNECT4.parse_state(t) for t in ("7/7/7/7/7/3x3 o", "7/7/7/7/3x3/2oxo2 x")]
    pool = new_pool(CONNECT4, SMALL, PoolSettings(), PoolGames(starts=starts, num_games=8))
    games = play(pool, tiny_net(7))
    assert {game.start_index for game in games} == {0, 1}
    for game in games:
        assert game.record(CONNECT4, starts=starts).final_state(CONNECT4).result == game.result


def test_the_ply_limit_ends_a_game(play, tiny_net) -> None:
    pool = new_pool(CONNECT4, SMALL, PoolSettings(max_plies=5), PoolGames(num_games=4))
    for game in play(pool, tiny_net(7)):
        assert len(game.actions) == 5
        assert (game.reason, game.result) == ("ply limit", 0)


def test_resignation_is_watched(play, tiny_net) -> None:
    options = PoolSettings(resign_value=-0.3, resign_turns=1, never_resign_share=0.5)
    pool = new_pool(CONNECT4, SMALL, options, PoolGames(num_games=60))
    games = play(pool, tiny_net(7))
    resigned = [game for game in games if game.reason == "resignation"]
    assert resigned
    assert all(game.would_resign_ply == len(game.actions) for game in resigned)
    for game in resigned:
        assert game.result == (-1 if len(game.actions) % 2 == 0 else 1)
    never = [game for game in games if game.never_resign]
    would = [game for game in never if game.would_resign_ply >= 0]
    wrong = [g for g in would if g.result * (1 if g.would_resign_ply % 2 == 0 else -1) > -1]
    assert 10 < len(never) < 50
    assert pool.num_never_resign == len(never)
    assert pool.num_would_resign == len(would)
    assert pool.num_wrong_resigns == len(wrong)
    assert wrong, "a random net is sometimes wrong"


class Wrapped:
    """A native state, whose class has no Search to be found by."""

    def __init__(self, state) -> None:
        self._state = state

    def play(self, action: int) -> "Wrapped":
        return Wrapped(self._state.play(action))

    def __getattr__(self, name: str):
        return getattr(self._state, name)


class WrappedGame:
    encodings = CONNECT4.encodings

    def __init__(self, *, in_python: bool) -> None:
        self.spec = dataclasses.replace(CONNECT4.spec, name="wrapped", in_python=in_python)

    def initial_state(self) -> Wrapped:
        return Wrapped(CONNECT4.initial_state())


def test_a_python_game_plays_the_same_games(play, tiny_net) -> None:
    pools = PoolSettings(parallel_games=3)
    game = WrappedGame(in_python=True)
    native = play(new_pool(CONNECT4, SMALL, pools, PoolGames(num_games=3)), tiny_net(7))
    adapted = play(new_pool(game, SMALL, pools, PoolGames(num_games=3)), tiny_net(7))
    for one, other in zip(native, adapted, strict=True):
        assert_same_game(one, other)


def test_python_rules_that_are_not_meant_are_warned_of_once() -> None:
    game = WrappedGame(in_python=False)
    state = game.initial_state()
    for search in (
        lambda: new_search(game, SMALL),
        lambda: new_pool(game, SMALL, PoolSettings()),
        lambda: new_rollouts(game, state),
    ):
        with pytest.warns(PythonRulesWarning, match="'wrapped' are in Python.*bind_play"):
            search()
        search()
        adapter._warn.cache_clear()


def test_wrong_use_is_named() -> None:
    pool = new_pool(CONNECT4, SMALL, PoolSettings(parallel_games=2))
    planes = pool.collect()
    assert planes.shape == (2, 3, 6, 7)
    with pytest.raises(UserError, match="apply the collected batch first"):
        pool.collect()
    wdl = np.full((2, 3), 1 / 3, np.float32)
    with pytest.raises(UserError, match=r"policy_logits .* shape \(2, 7\)"):
        pool.apply(np.zeros((2, 6), np.float32), wdl)
    logits = np.zeros((2, 7), np.float32)
    logits[1, 3] = np.nan
    with pytest.raises(UserError, match="not finite in row 1"):
        pool.apply(logits, wdl)
    pool.apply(np.zeros((2, 7), np.float32), wdl)
    with pytest.raises(UserError, match="parallel_games must be"):
        new_pool(CONNECT4, SMALL, PoolSettings(parallel_games=0))
    with pytest.raises(UserError, match="cpuct must be"):
        new_pool(CONNECT4, SearchSettings(cpuct=-1.0), PoolSettings())
    over = CONNECT4.parse_state("7/7/x6/x6/xo5/xoo4 o")
    with pytest.raises(UserError, match="already decided"):
        new_pool(CONNECT4, SMALL, PoolSettings(), PoolGames(starts=[over]))
