"""Gomoku beside OpenSpiel; Renju beside a plain reading of its definitions, and known shapes."""

import itertools

import numpy as np
import pytest
from referee import compare_games

from zerogames import UserError, get_game
from zerogames.game import Game, State


def openspiel_name(game: Game, state: State, action: int) -> str:
    row, column = divmod(action, game.spec.observation_shape[1])
    return f"{row},{column}"


@pytest.mark.parametrize("size", [6, 15])
def test_random_games_are_the_referees(size: int) -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    compare_games(f"gomoku:size={size}", f"gomoku(size={size})", openspiel_name, 25)


@pytest.mark.slow
def test_a_thousand_random_games_are_the_referees() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    compare_games("gomoku:size=8", "gomoku(size=8)", openspiel_name, 1000)


RENJU = get_game("gomoku:rule=renju")
Cell = tuple[int, int]
Stones = frozenset[Cell]
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


class PlainRenju:
    """The definitions, word by word, with sets of stones; slow."""

    def __init__(self, size: int, white: Stones) -> None:
        self.cells = set(itertools.product(range(size), range(size)))
        self.white = white

    def row(self, black: Stones, cell: Cell, direction: Cell) -> Stones:
        """The unbroken row through a stone."""
        found = {cell}
        for sign in (1, -1):
            step = cell
            while (step := (step[0] + sign * direction[0], step[1] + sign * direction[1])) in black:
                found.add(step)
        return frozenset(found)

    def makes_five(self, black: Stones, cell: Cell) -> bool:
        return any(len(self.row(black | {cell}, cell, one)) == 5 for one in DIRECTIONS)

    def free_near(self, black: Stones, cell: Cell, direction: Cell) -> list[Cell]:
        near = [(cell[0] + i * direction[0], cell[1] + i * direction[1]) for i in range(-5, 6)]
        return [one for one in near if one in self.cells - black - self.white]

    def fours(self, black: Stones, cell: Cell, direction: Cell) -> dict[Stones, set[Cell]]:
        """Sets of four stones, one at `cell`, with the cells that make each an unbroken five."""
        found: dict[Stones, set[Cell]] = {}
        for free in self.free_near(black, cell, direction):
            five = self.row(black | {free}, free, direction)
            if len(five) == 5 and cell in five:
                found.setdefault(five - {free}, set()).add(free)
        return found

    def is_three(self, black: Stones, cell: Cell, direction: Cell) -> bool:
        for free in self.free_near(black, cell, direction):
            if self.makes_five(black, free):
                continue
            fours = self.fours(black | {free}, free, direction)
            straight = any(cell in four and len(ends) == 2 for four, ends in fours.items())
            if straight and not self.is_forbidden(black, free):
                return True
        return False

    def is_forbidden(self, black: Stones, cell: Cell) -> bool:
        if self.makes_five(black, cell):
            return False
        after = black | {cell}
        if any(len(self.row(after, cell, one)) > 5 for one in DIRECTIONS):
            return True
        if sum(len(self.fours(after, cell, one)) for one in DIRECTIONS) >= 2:
            return True
        return sum(self.is_three(after, cell, one) for one in DIRECTIONS) >= 2


def position(size: int, black: Stones, white: Stones) -> str:
    rows = [
        "".join("x" if (r, c) in black else "o" if (r, c) in white else "1" for c in range(size))
        for r in reversed(range(size))
    ]
    return "/".join(
        "".join(
            str(len(list(cells))) if letter == "1" else letter * len(list(cells))
            for letter, cells in ((key, list(group)) for key, group in itertools.groupby(row))
        )
        for row in rows
    )


@pytest.mark.parametrize("seed", range(3))
def test_forbidden_moves_are_those_of_the_definition(seed: int) -> None:
    rng, size = np.random.default_rng(seed), 9
    game = get_game(f"gomoku:size={size},rule=renju")
    cells = list(itertools.product(range(size), range(size)))
    forbidden = 0
    for _ in range(24):
        chosen = [cells[i] for i in rng.permutation(len(cells))[: 2 * int(rng.integers(8, 16))]]
        black, white = frozenset(chosen[::2]), frozenset(chosen[1::2])
        try:
            state = game.parse_state(f"{position(size, black, white)} x")
        except UserError:  # A five is there already.
            continue
        if state.result is not None:
            continue
        plain = PlainRenju(size, white)
        free = [cell for cell in cells if cell not in black | white]
        legal = [cell for cell in free if not plain.is_forbidden(black, cell)]
        assert state.legal_actions().tolist() == [size * row + column for row, column in legal]
        forbidden += len(free) - len(legal)
    assert forbidden > 3


def stones(text: str) -> Stones:
    return frozenset((int(name[1:]) - 1, ord(name[0]) - ord("a")) for name in text.split())


@pytest.mark.parametrize(
    ("black", "white", "move", "allowed"),
    [
        # Shapes of the rules of the Renju International Federation, section 9.
        pytest.param("f8 g8 h6 h7", "", "h8", False, id="two threes"),
        pytest.param("e8 g8 h6 h7", "", "h8", False, id="a broken three and another"),
        pytest.param("f8 g8 h6 h7", "e8 i8", "h8", True, id="a three that is shut in is none"),
        pytest.param("g8 i8 h6 h7", "e8 k8", "h8", True, id="no straight four fits between"),
        pytest.param("e8 f8 g8 h5 h6 h7", "", "h8", False, id="two fours"),
        pytest.param("e8 g8 i8 k8", "", "h8", False, id="two fours in one row"),
        pytest.param("d8 e8 g8 j8 k8", "", "h8", False, id="two broken fours in one row"),
        pytest.param("e8 f8 g8", "", "h8", True, id="a straight four is one four"),
        pytest.param("e8 f8 g8 h6 h7", "d8", "h8", True, id="a four and a three"),
        pytest.param("c8 d8 e8 g8 h8", "", "f8", False, id="an overline"),
        pytest.param("c8 d8 e8 g8 h8 f4 f5 f6 f7", "", "f8", True, id="a five beside an overline"),
        pytest.param("d8 g8 h8 l8 i6 i7", "", "i8", True, id="a three that could only be six"),
    ],
)
def test_known_shapes(black: str, white: str, move: str, allowed: bool) -> None:
    own, other = stones(black), set(stones(white))
    far = (cell for cell in itertools.product(range(0, 15, 14), range(0, 15, 3)))
    while len(other) < len(own):
        other.add(next(far))
    state = RENJU.parse_state(f"{position(15, own, frozenset(other))} x")
    ((row, column),) = stones(move)
    assert state.is_legal(15 * row + column) == allowed
    assert PlainRenju(15, frozenset(other)).is_forbidden(own, (row, column)) != allowed


def test_a_six_wins_in_freestyle_only() -> None:
    text = "7/7/xxx1xx1/7/7/1o1o1o1/o4o1 x"
    results = {}
    for rule in ("freestyle", "standard"):
        state = get_game(f"gomoku:size=7,rule={rule}").parse_state(text)
        results[rule] = state.play(31).result
    assert results == {"freestyle": 1.0, "standard": None}
