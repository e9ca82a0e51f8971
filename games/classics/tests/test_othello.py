import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zerogames
from zerogames.game import State


class PlainOthello:
    """A slow reference on a grid."""

    def __init__(self, size: int) -> None:
        self.grid = np.zeros((size, size), int)
        low, high = size // 2 - 1, size // 2
        self.grid[low, high] = self.grid[high, low] = 1
        self.grid[low, low] = self.grid[high, high] = -1
        self.mover = 1

    def flips(self, row: int, column: int, mover: int) -> list[tuple[int, int]]:
        size = len(self.grid)
        flipped: list[tuple[int, int]] = []
        if self.grid[row, column]:
            return flipped
        for d_row in (-1, 0, 1):
            for d_column in (-1, 0, 1):
                line, r, c = [], row + d_row, column + d_column
                while 0 <= r < size and 0 <= c < size and self.grid[r, c] == -mover:
                    line.append((r, c))
                    r, c = r + d_row, c + d_column
                if 0 <= r < size and 0 <= c < size and self.grid[r, c] == mover:
                    flipped += line
        return flipped

    def moves(self, mover: int) -> list[int]:
        size = len(self.grid)
        return [a for a in range(size * size) if self.flips(a // size, a % size, mover)]

    def legal(self) -> list[int]:
        own, other = self.moves(self.mover), self.moves(-self.mover)
        return own or ([self.grid.size] if other else [])

    def play(self, action: int) -> None:
        if action < self.grid.size:
            row, column = divmod(action, len(self.grid))
            for cell in [(row, column), *self.flips(row, column, self.mover)]:
                self.grid[cell] = self.mover
        self.mover = -self.mover


@given(size=st.sampled_from([4, 6, 8]), random=st.randoms(use_true_random=False))
def test_random_games_agree_with_a_plain_reference(size: int, random: object) -> None:
    state = zerogames.get_game(f"othello:size={size}").initial_state()
    plain = PlainOthello(size)
    while True:
        assert state.legal_actions().tolist() == plain.legal()
        if state.result is not None:
            break
        action = random.choice(plain.legal())  # type: ignore[attr-defined]
        state = state.play(action)
        plain.play(action)
        planes = state.observe("stones")
        assert np.array_equal(planes[0] - planes[1], plain.grid * plain.mover)
    assert state.result == np.sign(plain.grid.sum())


def count_leaves(state: State, depth: int) -> int:
    if depth == 0:
        return 1
    return sum(count_leaves(state.play(int(a)), depth - 1) for a in state.legal_actions())


def test_perft_matches_the_published_counts() -> None:
    start = zerogames.get_game("othello").initial_state()
    assert [count_leaves(start, depth) for depth in range(1, 7)] == [4, 12, 56, 244, 1396, 8200]


@pytest.mark.slow
def test_deep_perft_matches_the_published_counts() -> None:
    start = zerogames.get_game("othello").initial_state()
    assert [count_leaves(start, depth) for depth in (7, 8)] == [55092, 390216]


def test_pass_is_legal_only_without_other_moves() -> None:
    game = zerogames.get_game("othello:size=4")
    state = game.parse_state("xxxx/xoox/xoox/oo2 x")
    assert state.is_legal(16) == (not state.legal_actions().tolist()[:-1])
    assert not game.initial_state().is_legal(16)


@pytest.mark.parametrize(
    "text", ["", "8/8 x", "8/8/8/3ox3/3xo3/8/8/8", "8/8/8/3ox4/3xo3/8/8/8 x", "8/8/8/8/8/8/8/9 x"]
)
def test_impossible_boards_are_refused(text: str) -> None:
    with pytest.raises(zerogames.UserError):
        zerogames.get_game("othello").parse_state(text)


def test_symmetries_keep_the_game() -> None:
    game = zerogames.get_game("othello:size=6")
    state = zerogames.parse_position(game, "moves b3 b2")
    for symmetry in game.symmetries:
        mask = np.zeros(game.spec.action_size, np.float32)
        mask[state.legal_actions()] = 1
        planes = symmetry.planes(state.observe("stones"))
        rows = [
            "".join("xo."[0 if m else 1 if t else 2] for m, t in zip(*r, strict=True))
            for r in zip(planes[0], planes[1], strict=True)
        ]
        text = "/".join(row.replace(".", "1") for row in rows) + " x"
        turned = game.parse_state(text)
        legal = np.flatnonzero(symmetry.policy(mask))
        assert turned.legal_actions().tolist() == legal.tolist()
