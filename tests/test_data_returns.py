"""Search values that look ahead: by hand, against a plain recursion, and as samples hold them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerogames.data.record import SEARCH_KINDS, VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.data.record_samples import turns_left
from zerogames.data.returns import EXPLORATION_GAP, lambda_returns
from zerogames.data.shard import write_shard
from zerogames.registry import get_game
from zerogames.train import ReplayWindow, WindowSettings

NAN = float("nan")
TURNS = np.arange(40, dtype=np.int8) % 2
"""The players of plies where sides take turns."""


def columns(best: list[float], played: list[float], kinds: list[str]) -> SearchColumns:
    plies = len(best)
    values = {name: np.full(plies, NAN, np.float32) for name in VALUE_COLUMNS}
    values["best_q"] = np.array(best, np.float32)
    values["best_d"] = np.where(np.isnan(best), NAN, 0.1).astype(np.float32)
    values["played_q"] = np.array(played, np.float32)
    return SearchColumns(
        policy_offsets=np.zeros(plies + 1, np.int64),
        policy_actions=np.empty(0, np.int32),
        policy_visits=np.empty(0, np.int32),
        policy_targets=np.empty(0, np.float32),
        values=values,
        surprise=np.zeros(plies, np.float32),
        kinds=np.array([SEARCH_KINDS.index(kind) for kind in kinds], np.uint8),
    )


def test_a_game_in_earnest_gives_its_result_to_every_move() -> None:
    search = columns([0.2, 0.1, 0.5], [0.2, 0.1, 0.5], ["full"] * 3)
    q, d = lambda_returns(search, TURNS[: search.plies], 1.0, 1.0)
    assert q.tolist() == [1, -1, 1]
    assert d.tolist() == [0, 0, 0]


def test_a_blunder_on_purpose_is_not_blamed_on_the_moves_before() -> None:
    search = columns([0.6, -0.6, 0.6, 0.9], [0.6, -0.6, -0.8, 0.9], ["full"] * 4)
    # The third move gives the game away.
    q, _ = lambda_returns(search, TURNS[:4], -1.0, 1.0)
    np.testing.assert_allclose(q, [0.6, -0.6, 0.6, 1], atol=1e-6)


def test_a_proof_stands_and_hides_what_follows() -> None:
    search = columns([0.0, 1.0, -0.9], [0.0, 1.0, -0.9], ["full", "proved", "full"])
    q, _ = lambda_returns(search, TURNS[: search.plies], 1.0, 1.0)
    assert q.tolist() == [-1, 1, 1]


def test_moves_without_a_search_pass_on_what_comes_later() -> None:
    search = columns([NAN, 0.4], [NAN, 0.4], ["random", "full"])
    q, d = lambda_returns(search, TURNS[:2], 0.0, 0.5)
    np.testing.assert_allclose(q, [-0.2, 0.2], atol=1e-6)
    np.testing.assert_allclose(d, [0.55, 0.55], atol=1e-6)


@given(
    st.lists(
        st.tuples(
            st.floats(-1, 1, width=32),
            st.floats(0, 0.25, width=32),
            st.sampled_from(SEARCH_KINDS),
            st.integers(0, 1),
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from((-1.0, 0.0, 1.0)),
    st.floats(0, 1),
)
def test_it_is_the_recursion_of_the_definition(
    moves: list[tuple[float, float, str, int]], result: float, lambda_: float
) -> None:
    search = columns(
        [move[0] for move in moves], [move[0] - move[1] for move in moves], [m[2] for m in moves]
    )
    sides = [side for *_, side in moves]

    def plain(ply: int) -> float:
        """The view of the ply's player."""
        best, gap = search.values["best_q"][ply], best_minus_played(search)[ply]
        if moves[ply][2] not in ("full", "fast") or gap > EXPLORATION_GAP:
            return float(best)
        if ply + 1 == len(moves):
            after = result if sides[ply] == 0 else -result
        else:
            after = plain(ply + 1) * (1 if sides[ply + 1] == sides[ply] else -1)
        return (1 - lambda_) * float(best) + lambda_ * after

    q, _ = lambda_returns(search, np.array(sides, np.int8), result, lambda_)
    np.testing.assert_allclose(q, [plain(ply) for ply in range(len(moves))], atol=1e-5)


def best_minus_played(search: SearchColumns) -> list[float]:
    gap: list[float] = (search.values["best_q"] - search.values["played_q"]).tolist()
    return gap


@pytest.mark.parametrize("start", ["", "moves 4"])
def test_samples_hold_them_in_the_view_of_the_side_to_move(tmp_path: Path, start: str) -> None:
    game = get_game("connect4")
    moves = [3, 3, 2, 2, 1, 1, 0] if not start else [2, 3, 2, 1, 1, 0, 0]
    record = GameRecord(
        game=game.spec.identity,
        start=start and game.format_state(game.initial_state().play(3)),
        actions=np.array(moves, np.int32),
        result=1.0,
        search=replace(columns([0.0] * 7, [0.0] * 7, ["full"] * 7)),
    )
    write_shard(tmp_path / "one.parquet", [record])
    settings = WindowSettings(batch_size=64, min_positions=1, value_lambda=1.0, symmetries=False)
    encoding = next(iter(game.encodings))
    with ReplayWindow(game, encoding, settings) as window:
        assert window.add(tmp_path / "one.parquet")
        batch = window.draw()
    np.testing.assert_allclose(batch.search, batch.result, atol=1e-6)
    assert set(batch.result[:, 0].tolist()) == {0.0, 1.0}


def test_turns_left_counts_a_turn_of_several_actions_once() -> None:
    assert turns_left(np.array([0, 1, 1, 0, 0, 1], np.int8)).tolist() == [4, 3, 3, 2, 2, 1]
    assert turns_left(np.array([], np.int8)).tolist() == []
    assert turns_left(TURNS).tolist() == list(range(40, 0, -1))
