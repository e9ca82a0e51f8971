"""Self-play without a console, a folder or a thread."""

import itertools

import pytest

from zerogames import UserError, get_game
from zerogames.data import GameRecord
from zerogames.engine import play_games
from zerogames.evaluate import RandomEvaluator
from zerogames.search.settings import PoolSettings, search_preset


def played(num_games: int | None, seed: int = 1, parallel: int = 4) -> list[GameRecord]:
    game = get_game("connect4")
    games = play_games(
        game,
        RandomEvaluator(game),
        num_games=num_games,
        settings=search_preset("gumbel", simulations=8),
        pool=PoolSettings(parallel_games=parallel),
        seed=seed,
    )
    return list(itertools.islice(games, 20))


def moves(records: list[GameRecord]) -> list[list[int]]:
    return sorted(record.actions.tolist() for record in records)


def test_each_game_is_a_whole_record() -> None:
    records = played(5)
    assert len(records) == 5
    for record in records:
        state = record.final_state(get_game("connect4"))
        assert (state.result, state.end_reason) == (record.result, record.reason)
        assert record.net == "random-0"
        assert record.search is not None
        assert record.search.plies == len(record.actions)


def test_games_depend_on_the_seed_alone() -> None:
    assert moves(played(5)) == moves(played(5, parallel=3))
    assert moves(played(5)) != moves(played(5, seed=2))


def test_games_without_end_and_no_games() -> None:
    assert len(played(None)) == 20
    assert played(0) == []


def test_mistakes_are_named_at_the_call() -> None:
    game = get_game("connect4")
    with pytest.raises(UserError, match="num_games must be 0 or more"):
        play_games(game, RandomEvaluator(game), num_games=-1)
    with pytest.raises(UserError, match="simulations"):
        play_games(
            game,
            RandomEvaluator(game),
            num_games=1,
            settings=search_preset("gumbel", simulations=0),
        )
