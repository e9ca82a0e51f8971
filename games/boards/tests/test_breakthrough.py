"""Breakthrough: beside OpenSpiel, and texts by hand."""

import pytest
from referee import compare_games

from zerogames import UserError, get_game
from zerogames.game import Game, State


def openspiel_name(game: Game, state: State, action: int) -> str:
    """Its first player moves down from the last row, ours up from the first."""
    rows = game.spec.observation_shape[1]
    text = game.format_action(state, action)
    turned = [f"{text[i]}{rows + 1 - int(text[i + 1])}" for i in (0, 3)]
    return "".join(turned) + ("*" if text[2] == "x" else "")


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (6, 6), (8, 5)])
def test_random_games_are_the_referees(rows: int, columns: int) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    referee = f"breakthrough(rows={rows},columns={columns})"
    identity = f"breakthrough:size={rows},columns={columns}"
    compare_games(identity, referee, openspiel_name, 17)


@pytest.mark.slow
def test_a_thousand_random_games_are_the_referees() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    compare_games("breakthrough", "breakthrough", openspiel_name, 1000)


def test_moves_are_read_in_several_forms() -> None:
    game = get_game("breakthrough")
    state = game.parse_state("8/8/8/2b5/1w6/8/8/8 w")
    captures = {game.parse_action(state, text) for text in ("b4xc5", "b4-c5", "b4c5", "B4 C5")}
    assert [game.format_action(state, action) for action in captures] == ["b4xc5"]
    for text in ("b4", "b4-b6", "b4-d5", "a4-a5", "b4-c9", "b4-a5-a6"):
        with pytest.raises(UserError):
            game.parse_action(state, text)


def test_one_board_has_one_identity() -> None:
    assert get_game("breakthrough:size=6,columns=6").spec.identity == "breakthrough:size=6"
    with pytest.raises(UserError, match="columns"):
        get_game("breakthrough:columns=1")
