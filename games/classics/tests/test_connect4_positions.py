"""The solved positions that test the strength of nets (benchmarks/strength.py)."""

import random
from collections import Counter
from pathlib import Path

import pytest
from zerogames_classics.connect4_solver import Connect4Solver

import zerogames

GAME = zerogames.get_game("connect4")
FILE = Path(__file__).parent / "data" / "connect4_positions.txt"
LINES = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
VALUES = {"+": 1, "0": 0, "-": -1}


def check(line: str, solver: Connect4Solver) -> None:
    moves, letters = line.split()
    state = zerogames.parse_position(GAME, "moves " + " ".join(moves))
    legal = [column for column, letter in enumerate(letters) if letter != "."]
    assert state.legal_actions().tolist() == legal
    values = [VALUES[letters[column]] for column in legal]
    assert solver.action_results(state).tolist() == values


def test_every_ply_has_its_share_and_every_position_a_worse_move() -> None:
    counts = Counter(len(line.split()[0]) for line in LINES)
    assert sorted(counts) == list(range(6, 31))
    assert len(LINES) == 1000
    assert len(set(LINES)) == len(LINES)
    for line in LINES:
        assert len(set(line.split()[1]) & set(VALUES)) > 1


def test_a_sample_is_solved_again() -> None:
    solver = Connect4Solver()
    late = [line for line in LINES if len(line.split()[0]) >= 13]
    for line in random.Random(5).sample(late, 120):
        check(line, solver)


@pytest.mark.slow
def test_all_are_solved_again() -> None:
    solver = Connect4Solver(mebibytes=512)
    for line in LINES:
        check(line, solver)
