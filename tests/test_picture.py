"""Cells of pictures: what a person points at, on straight and on turned boards."""

import re

import numpy as np
import pytest

from zerogames import get_game
from zerogames.picture import BoardPicture, Cell, CellPicture, Piece, find_cells

IDENTITIES = ("chess", "connect4", "go:size=5", "othello:size=6", "shogi")


@pytest.mark.parametrize(
    ("text", "names", "cells"),
    [
        ("e7e8q", ("e7", "e8"), ("e7", "e8")),
        ("Q16", ("Q1", "Q16"), ("Q16",)),
        ("pass", ("a", "p", "s"), ()),
        ("P*5e", ("P*", "5e"), ("P*", "5e")),
        ("4", ("3", "4"), ("4",)),
        ("d1-d7/g7", ("d1", "d7", "g7"), ("d1", "d7", "g7")),
        ("e4", (), ()),
    ],
)
def test_cells_are_found_in_the_text_of_a_move(
    text: str, names: tuple[str, ...], cells: tuple[str, ...]
) -> None:
    assert find_cells(text, names) == cells


@pytest.mark.parametrize("identity", IDENTITIES)
def test_every_move_but_a_pass_points_at_cells(identity: str) -> None:
    game, rng = get_game(identity), np.random.default_rng(1)
    state = game.initial_state()
    for _ in range(60):
        if state.result is not None:
            break
        picture = game.render(state)
        assert isinstance(picture, CellPicture)
        names = {cell.name for cell in picture.cells}
        for action in state.legal_actions().tolist():
            found = game.action_cells(state, action, names)
            assert found or game.format_action(state, action) == "pass"
        state = state.play(int(rng.choice(state.legal_actions())))


def _centre(cell: Cell) -> tuple[float, float]:
    x, y = np.mean(cell.corners, axis=0)
    return float(x), float(y)


@pytest.mark.parametrize("identity", ["chess", "shogi"])
def test_a_turned_board_has_every_cell_at_the_opposite_place(identity: str) -> None:
    game = get_game(identity)
    picture = game.render(game.initial_state())
    box = re.search(r'viewBox="0 0 (\d+) (\d+)"', picture.svg())
    assert box
    width, height = map(int, box.groups())
    turned = {cell.name: _centre(cell) for cell in picture.turned().cells}
    for cell in picture.cells:
        x, y = _centre(cell)
        assert 0 < x < width
        assert 0 < y < height
        assert turned[cell.name] == (width - x, height - y)


def test_a_cell_of_chess_lies_on_the_piece_that_is_drawn_there() -> None:
    game = get_game("chess")
    picture = game.render(game.parse_state("7k/8/8/8/8/8/8/K7 w - - 0 1"))
    a1 = next(cell for cell in picture.cells if cell.name == "a1")
    (x, y) = a1.corners[0]
    assert f'transform="translate({x:g}, {y:g})"' in picture.svg()


def test_pieces_in_hand_are_cells_of_the_side_to_move() -> None:
    game = get_game("shogi")
    state = game.parse_state("4k4/9/9/9/9/9/9/9/4K4 b 2Pg 1")
    names = {cell.name for cell in game.render(state).cells}
    assert "P*" in names
    assert "G*" not in names
    drop = game.parse_action(state, "P*5e")
    assert game.action_cells(state, drop, names) == ("P*", "5e")


def test_chess_is_written_as_in_books() -> None:
    game = get_game("chess")
    state = game.initial_state()
    assert game.notation(state, game.parse_action(state, "g1f3")) == "Nf3"


def test_a_board_is_turned_only_where_players_sit_opposite() -> None:
    man = Piece("x", "#000000")
    board = BoardPicture(
        pieces=[[man, None, None], [None, None, None]],
        column_labels="abc",
        row_labels="21",
        light="#ffffff",
        dark="#000000",
        highlight=frozenset({(0, 0)}),
    )
    assert board.turned() is board
    opposite = BoardPicture(**{**vars(board), "opposite": True})
    turned = opposite.turned()
    assert turned.pieces[1][2] is man
    assert turned.highlight == {(1, 2)}
    assert [cell.name for cell in turned.cells] == ["c1", "b1", "a1", "c2", "b2", "a2"]
    # Two rows and three columns: the colours of the corners change places.
    assert (turned.light, turned.dark) == ("#000000", "#ffffff")
    assert vars(turned.turned()) == vars(opposite)
