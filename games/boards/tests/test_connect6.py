"""Connect6 beside rules of a few plain lines, and its turns of two stones."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from zerogames import get_game
from zerogames.search import new_search
from zerogames.search.settings import SearchSettings


def plain_result(board: np.ndarray) -> float | None:
    """The result of a board of 1 (black), -1 (white) and 0."""
    windows = [sliding_window_view(board, 6, axis=axis).reshape(-1, 6) for axis in (0, 1)]
    for side in (board, board[::-1]):
        blocks = sliding_window_view(side, (6, 6)).reshape(-1, 6, 6)
        windows.append(np.diagonal(blocks, axis1=1, axis2=2))
    sums = np.concatenate(windows).sum(axis=1)
    if (abs(sums) == 6).any():
        return float(np.sign(sums[abs(sums) == 6][0]))
    return 0.0 if board.all() else None


def play_games(size: int, num_games: int, seed: int) -> list[float]:
    game, rng, results = get_game(f"connect6:size={size}"), np.random.default_rng(seed), []
    for _ in range(num_games):
        state, board = game.initial_state(), np.zeros(size * size, np.int8)
        while plain_result(board.reshape(size, size)) is None:
            assert state.result is None
            assert state.to_play == (state.plies + 1) // 2 % 2
            assert state.legal_actions().tolist() == np.flatnonzero(board == 0).tolist()
            action = int(rng.choice(state.legal_actions()))
            board[action] = 1 if state.to_play == 0 else -1
            state = state.play(action)
        assert state.result == plain_result(board.reshape(size, size))
        results.append(state.result)
    return results


def test_random_games_are_those_of_the_plain_rules() -> None:
    assert len(set(play_games(9, 50, seed=1))) > 1


@pytest.mark.slow
def test_a_thousand_random_games_are_those_of_the_plain_rules() -> None:
    assert set(play_games(9, 1000, seed=2)) == {-1.0, 0.0, 1.0}


@pytest.mark.parametrize(
    ("text", "wins"),
    [
        ("6/6/oo1oo1/o4o/xxxx2/5x x", True),  # two stones of one turn are enough
        ("6/6/oooo2/x5/xx1xx1/6 o", True),
        ("o4o/6/xx1x2/2x1x1/6/o4o o", False),
    ],
)
def test_a_search_wins_with_both_stones_of_a_turn(text: str, wins: bool) -> None:
    game = get_game("connect6:size=6")
    search = new_search(game, SearchSettings(noise="none", simulations=3000))
    state = game.parse_state(text)
    mover = state.to_play
    search.set_position(state)
    search.run_constant()
    assert (search.proven == 1) == wins
    if wins:
        for action in search.principal_variation().tolist():
            state = state.play(action)
        assert state.result == (1, -1)[mover]
