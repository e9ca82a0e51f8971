"""Native classes used wrongly from Python: one clear error, never a crash of the interpreter."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from zerogames import PoolSettings, UserError, get_game, search_preset
from zerogames.search import Pool, PoolGames, Search, new_pool, new_rollouts, new_search

SETTINGS = search_preset("alphazero", simulations=64)
GO9, GO19 = get_game("go:size=9"), get_game("go:size=19")


def go_search() -> Search:
    return new_search(GO9, SETTINGS)


def answer(rows: int, actions: int = 82) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((rows, actions), np.float32), np.full((rows, 3), 1 / 3, np.float32)


def searched() -> Search:
    search = go_search()
    while not search.done:
        search.apply(*answer(len(search.collect(8))))
    return search


@pytest.mark.parametrize(
    "state", [GO19.initial_state(), get_game("chess").initial_state(), "startpos", 7]
)
def test_a_search_takes_states_of_its_own_game_and_size_only(state: object) -> None:
    search = go_search()
    with pytest.raises(UserError, match=r"no state of the game|does not fit"):
        search.set_position(state)  # type: ignore[arg-type]
    search.apply(*answer(len(search.collect(8))))  # It is as it was.


def test_a_pool_takes_starts_of_its_own_game_and_size_only() -> None:
    for start in (GO19.initial_state(), get_game("othello").initial_state(), None):
        with pytest.raises(UserError, match=r"no state of the game|does not fit"):
            new_pool(GO9, SETTINGS, PoolSettings(), PoolGames(starts=[start]))  # type: ignore[list-item]


def test_rollouts_take_states_of_their_own_game_only() -> None:
    with pytest.raises((UserError, TypeError)):
        type(GO9.initial_state()).Rollouts(None)  # type: ignore[attr-defined]


MISUSES: dict[str, Callable[[Search], Any]] = {
    "big-endian logits": lambda s: s.apply(answer(8)[0].astype(">f4"), answer(8)[1]),
    "big-endian values": lambda s: s.apply(answer(8)[0], answer(8)[1].astype(">f4")),
    "doubles": lambda s: s.apply(answer(8)[0].astype(np.float64), answer(8)[1]),
    "too few rows": lambda s: s.apply(*answer(7)),
    "too many rows": lambda s: s.apply(*answer(9)),
    "too few actions": lambda s: s.apply(*answer(8, actions=81)),
    "strided": lambda s: s.apply(np.zeros((8, 164), np.float32)[:, ::2], answer(8)[1]),
    "not an array": lambda s: s.apply(None, None),  # type: ignore[arg-type]
    "not a number": lambda s: s.apply(np.full((8, 82), np.nan, np.float32), answer(8)[1]),
    "probabilities that are none": lambda s: s.apply(
        answer(8)[0], np.full((8, 3), np.inf, np.float32)
    ),
    "second batch without an array": lambda s: s.collect(8),
    "another position before the answer": lambda s: s.set_position(GO9.initial_state()),
    "a move before the answer": lambda s: s.advance(0),
    "out of another shape": lambda s: s.collect(8, np.zeros((8, 21, 19, 19), np.float32)),
    "out too short": lambda s: s.collect(8, np.zeros((7, 21, 9, 9), np.float32)),
    "out read-only": lambda s: s.collect(8, np.broadcast_to(np.float32(0), (8, 21, 9, 9))),
    "out big-endian": lambda s: s.collect(8, np.zeros((8, 21, 9, 9), ">f4")),
    "batch of nothing": lambda s: s.collect(0),
    "batch of everything": lambda s: s.collect(1 << 40),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_wrong_call_is_refused_and_the_search_continues(name: str) -> None:
    search = go_search()
    while len(search.collect(1)):  # The root alone comes first.
        search.apply(*answer(1))
        break
    planes = search.collect(8)
    rows = len(planes)
    assert rows == 8
    with pytest.raises((UserError, TypeError, ValueError)):
        MISUSES[name](search)
    search.apply(*answer(rows))
    assert search.simulations >= 8


AFTERWARDS: dict[str, Callable[[Search], Any]] = {
    "illegal move": lambda s: s.advance(82),
    "negative move": lambda s: s.advance(-1),
    "apply without a batch": lambda s: s.apply(*answer(1)),
    "illegal first move": lambda s: s.principal_variation(10, 500),
    "negative simulations": lambda s: s.start(-1),
    "no allowed move": lambda s: s.start(10, allowed=[]),
    "temperature below 0": lambda s: s.choose(-1.0),
    "temperature that is no number": lambda s: s.choose(float("nan")),
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_a_wrong_call_between_searches_is_refused_or_harmless(name: str) -> None:
    search = searched()
    with contextlib.suppress(UserError, TypeError, ValueError):
        AFTERWARDS[name](search)
    search.set_position(GO9.initial_state())
    search.apply(*answer(len(search.collect(8))))


def run_in_threads(calls: list[Callable[[], object]]) -> list[BaseException]:
    errors: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def play(pool: Pool, steps: int = 300) -> None:
    for _ in range(steps):
        planes = pool.collect()
        pool.apply(*answer(len(planes)))


def test_four_threads_on_one_pool_are_refused_not_mixed() -> None:
    pool = new_pool(GO9, SETTINGS, PoolSettings(parallel_games=32))
    errors = run_in_threads([lambda: play(pool)] * 4)
    assert errors
    assert all(isinstance(error, UserError) for error in errors)


def test_a_second_thread_on_a_search_is_told_so() -> None:
    search = new_search(GO19, search_preset("alphazero", simulations=200_000))
    begun = threading.Event()

    def run() -> None:
        begun.set()
        search.run_constant()

    def look() -> None:
        begun.wait()
        for _ in range(200):
            _ = search.visits

    errors = run_in_threads([run, look])
    assert [str(error).split(";")[0] for error in errors] == [
        "another thread is using this object"
    ] or not errors
    assert search.done


def test_counts_of_a_pool_may_be_read_by_any_thread() -> None:
    pool = new_pool(GO9, SETTINGS, PoolSettings(parallel_games=8))

    def look() -> None:
        for _ in range(20_000):
            assert pool.num_games >= 0
            assert pool.cache_hits >= 0

    assert run_in_threads([lambda: play(pool, 100), look]) == []


def test_four_threads_on_one_tree_of_rollouts() -> None:
    rollouts = new_rollouts(get_game("connect4"), get_game("connect4").initial_state(), seed=1)

    def run() -> None:
        for _ in range(20):
            rollouts.run(2000)

    errors = run_in_threads([run] * 4)
    assert all(isinstance(error, UserError) for error in errors)
    assert rollouts.total >= 2000
