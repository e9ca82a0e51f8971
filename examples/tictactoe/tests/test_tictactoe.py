import pytest

from zerogames import UserError, get_game, parse_position
from zerogames.testing import check_game

GAME = get_game("tictactoe")


def test_the_framework_gets_what_it_relies_on() -> None:
    check_game(GAME)


def test_three_in_a_row_win() -> None:
    state = parse_position(GAME, "startpos moves a1 b2 b1 c3 c1")
    assert state.result == 1.0
    assert state.end_reason == "three in a row"


def test_a_full_board_is_a_draw() -> None:
    state = GAME.parse_state("xoxxoooxx")
    assert state.result == 0.0


def test_a_taken_cell_is_refused() -> None:
    state = parse_position(GAME, "startpos moves b2")
    with pytest.raises(UserError, match="not legal"):
        GAME.parse_action(state, "b2")
