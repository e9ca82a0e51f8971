"""Hex: beside OpenSpiel, and the swap and pictures by hand."""

import pytest
from referee import compare_games

from zerogames import UserError, get_game
from zerogames.game import Game, State

GAME = get_game("hex:size=5")


def openspiel_name(game: Game, state: State, action: int) -> str:
    return game.format_action(state, action)


@pytest.mark.parametrize("size", [2, 5, 11])
def test_random_games_are_the_referees(size: int) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    identity = f"hex:size={size},swap=false"
    compare_games(identity, f"hex(board_size={size})", openspiel_name, 17)


@pytest.mark.slow
def test_a_thousand_random_games_are_the_referees() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    compare_games("hex:swap=false", "hex", openspiel_name, 1000)


def test_the_swap_mirrors_the_first_stone() -> None:
    state = GAME.initial_state()
    with pytest.raises(UserError, match="not legal"):
        GAME.parse_action(state, "swap")
    state = state.play(GAME.parse_action(state, "b4"))
    assert GAME.render(state).caption == "o may swap"
    swap = GAME.parse_action(state, "swap")
    state = state.play(swap)
    assert GAME.format_state(state) == "5/3o1/5/5/5 x"
    picture = GAME.render(state, last_action=swap)
    assert picture.caption == "o swapped: its stone is d2"
    assert picture.highlight == {(1, 3)}
    state = state.play(GAME.parse_action(state, "a1"))
    with pytest.raises(UserError, match="not legal"):
        GAME.parse_action(state, "swap")


def test_both_players_see_their_own_edges_above_and_below() -> None:
    red = GAME.parse_state("x4/5/5/5/4o x").observe("stones")
    assert red[0, 0, 0] == red[1, 4, 4] == 1
    # From Blue's view its stone a5 is on the right of the first row.
    blue = GAME.parse_state("4x/2x2/5/5/o4 o").observe("stones")
    assert blue[0, 0, 4] == blue[1, 4, 0] == blue[1, 2, 1] == 1


def test_pictures_have_hexagons() -> None:
    picture = GAME.render(GAME.parse_state("5/1x3/5/5/5 o"))
    assert picture.svg().count("<polygon") == 25
    lines = picture.ansi(colour=False).splitlines()
    assert lines[:3] == ["   a b c d e", "1  . . . . .", "2   . x . . ."]
