"""Self-play without a console, a folder or a thread."""

import itertools
from pathlib import Path

import pytest

from zerogames import (
    GameRecord,
    Net,
    PoolSettings,
    UserError,
    get_game,
    load_net,
    play_games,
    read_games,
    search_preset,
    write_games,
)


def small_net() -> Net:
    return load_net("res_3x3_1x8", "connect4")


def played(num_games: int | None, seed: int = 1, parallel: int = 4) -> list[GameRecord]:
    games = play_games(
        small_net(),
        num_games,
        search=search_preset("gumbel", simulations=8),
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
        assert record.net == small_net().evaluator.version
        assert record.search is not None
        assert record.search.plies == len(record.actions)


def test_games_depend_on_the_seed_alone() -> None:
    assert moves(played(5)) == moves(played(5, parallel=3))
    assert moves(played(5)) != moves(played(5, seed=2))


def test_games_without_end_and_no_games() -> None:
    assert len(played(None)) == 20
    assert played(0) == []


def test_mistakes_are_named_at_the_call() -> None:
    with pytest.raises(UserError, match="num_games must be 0 or more"):
        play_games(small_net(), -1)
    with pytest.raises(UserError, match="simulations"):
        play_games(small_net(), 1, search=search_preset("gumbel", simulations=0))


@pytest.mark.parametrize("name", ["games.parquet", "games.txt"])
def test_written_games_are_read_again(tmp_path: Path, name: str) -> None:
    records = played(3)
    assert write_games(tmp_path / name, records) == 3
    found = list(read_games(str(tmp_path / name), "connect4"))
    assert [record.actions.tolist() for record in found] == [
        record.actions.tolist() for record in records
    ]
    assert [record.result for record in found] == [record.result for record in records]


def test_an_unknown_ending_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown record format of connect4 'pgn'"):
        write_games(tmp_path / "games.pgn", played(1))
    assert list(tmp_path.iterdir()) == []
