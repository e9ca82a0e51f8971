import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zerogames
from zerogames.game import State

GAME = zerogames.get_game("connect4")


def plain_result(columns: list[int]) -> float | None:
    """A slow reference: play on a grid, look along every line."""
    grid = np.zeros((6, 7), int)
    for ply, column in enumerate(columns):
        row = int((grid[:, column] != 0).sum())
        grid[row, column] = 1 if ply % 2 == 0 else -1
        for d_row, d_column in ((0, 1), (1, 0), (1, 1), (1, -1)):
            for r in range(6):
                for c in range(7):
                    cells = [(r + i * d_row, c + i * d_column) for i in range(4)]
                    if all(0 <= a < 6 and 0 <= b < 7 for a, b in cells):
                        total = sum(grid[a, b] for a, b in cells)
                        if abs(total) == 4:
                            return float(np.sign(total))
    return 0.0 if len(columns) == 42 else None


@given(st.randoms(use_true_random=False))
def test_random_games_agree_with_a_plain_reference(random: object) -> None:
    state, columns = GAME.initial_state(), []
    while state.result is None:
        assert plain_result(columns) is None
        columns.append(random.choice(state.legal_actions().tolist()))  # type: ignore[attr-defined]
        state = state.play(columns[-1])
    assert state.result == plain_result(columns)


def position(moves: str) -> State:
    return zerogames.parse_position(GAME, "moves " + " ".join(moves))


@pytest.mark.parametrize(
    ("moves", "result"),
    [
        ("1212121", 1.0),  # upright
        ("1122334", 1.0),  # level
        ("12233434464", 1.0),  # rising
        ("76655454424", 1.0),  # falling
        ("31212121", -1.0),
        ("345341", None),
    ],
)
def test_lines(moves: str, result: float | None) -> None:
    assert position(moves).result == result


def test_nothing_can_be_played_after_the_end() -> None:
    with pytest.raises(zerogames.UserError, match="over"):
        position("12121217")


def test_a_full_board_is_a_draw() -> None:
    state = position("547125662261271266215743771576315353334444")
    assert (state.plies, state.result, state.end_reason) == (42, 0.0, "board full")


def test_observation_is_the_movers_view() -> None:
    planes = position("44").observe("stones")
    assert planes[0, 0, 3] == 1
    assert planes[1, 1, 3] == 1
    assert planes[2].all()


@pytest.mark.parametrize(
    "text",
    [
        "7/7/7/7/7/7",
        "7/7/7/7/7/7 y",
        "7/7/7/7/7/8 x",
        "7/7/7/7/7 x",
        "7/7/7/7/7/7/7 x",
        "7/7/7/7/3x3/7 o",
        "7/7/7/7/7/xx5 x",
        "7/7/7/7/oooo3/xxx4 x",
        "7/7/7/7/7/3z3 x",
    ],
)
def test_impossible_boards_are_refused(text: str) -> None:
    with pytest.raises(zerogames.UserError):
        GAME.parse_state(text)


@given(st.text(alphabet="xo/0123456789 ", max_size=40))
def test_any_text_is_read_back_or_refused(text: str) -> None:
    try:
        state = GAME.parse_state(text)
    except zerogames.UserError:
        return
    again = GAME.parse_state(GAME.format_state(state))
    assert again.position_key == state.position_key
