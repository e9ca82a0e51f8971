"""The solver against a plain one, published facts and consequences of the rules."""

import functools
import threading

import numpy as np
import pytest
from zerogames_classics.connect4_solver import Connect4Solver

import zerogames
from zerogames.arena.game_loop import Rules, play_game
from zerogames.arena.openings import RandomOpenings
from zerogames.arena.perfect_player import PerfectPlayer
from zerogames.arena.players import parse_player
from zerogames.arena.random_player import RandomPlayer
from zerogames.game import State, play_actions

GAME = zerogames.get_game("connect4")


@functools.cache
def plain_score(position: str) -> int:
    """A slow reference: every line to its end, by the rules alone."""
    state = GAME.parse_state(position)
    stones = sum(letter in "xo" for letter in position.split()[0])
    if state.result is not None:
        # Who is to move has lost; the winner keeps half of what is left of 42 stones.
        return 0 if state.result == 0 else -((42 - stones) // 2 + 1)
    return max(
        -plain_score(GAME.format_state(state.play(int(action)))) for action in state.legal_actions()
    )


def random_position(plies: int, seed: int) -> State:
    return play_actions(GAME.initial_state(), RandomOpenings(GAME, plies, seed)[0].actions)


@pytest.mark.parametrize("seed", range(25))
def test_late_positions_have_the_plain_score(seed: int) -> None:
    solver = Connect4Solver(mebibytes=1)
    state = random_position(31, seed)
    children = [state.play(int(action)) for action in state.legal_actions()]
    scores = [-plain_score(GAME.format_state(child)) for child in children]
    assert solver.action_scores(state).tolist() == scores
    assert solver.action_results(state).tolist() == np.sign(scores).tolist()
    assert solver.score(state) == max(scores)
    best = [a for a, s in zip(state.legal_actions(), scores, strict=True) if s == max(scores)]
    assert solver.best_actions(state).tolist() == best


@pytest.mark.parametrize("plies", [16, 20, 24, 28])
def test_a_position_its_mirror_image_and_its_moves_agree(plies: int) -> None:
    solver, mirror = Connect4Solver(), Connect4Solver(mebibytes=1)
    for seed in range(4):
        actions = RandomOpenings(GAME, plies, seed)[0].actions
        state = play_actions(GAME.initial_state(), actions)
        image = play_actions(GAME.initial_state(), [6 - action for action in actions])
        scores = solver.action_scores(state)
        assert mirror.action_scores(image).tolist() == scores[::-1].tolist()
        assert solver.score(state) == scores.max()
        assert solver.action_results(state).tolist() == np.sign(scores).tolist()


def position(moves: str) -> State:
    return zerogames.parse_position(GAME, "moves " + " ".join(moves))


@pytest.mark.parametrize(
    ("moves", "score"),
    [
        ("2252576253462244111563365343671351441", -1),
        ("7422341735647741166133573473242566", 1),
        ("23163416124767223154467471272416755633", 0),
        ("65214673556155731566316327373221417", -1),
    ],
)
def test_published_scores(moves: str, score: int) -> None:
    """From the test sets of Pascal Pons, in common use for solvers of this game."""
    assert Connect4Solver(mebibytes=1).score(position(moves)) == score


@pytest.mark.parametrize(
    ("moves", "scores"),
    [
        ("274552224131661", [-9, -11, -12, 0, -11, -11, -11]),
        ("5455174361263362", [-12, -1, -12, -13, -12, -12, -12]),
        ("2531276566711153", [-2, 2, -1, 0, -1, 0, -12]),
    ],
)
def test_published_scores_of_all_moves(moves: str, scores: list[int]) -> None:
    assert Connect4Solver().action_scores(position(moves)).tolist() == scores


def test_the_distance_is_that_of_perfect_play() -> None:
    solver = Connect4Solver()
    for seed in range(12):
        state = random_position(18, seed)
        expected, plies = solver.plies_left(state), 0
        while state.result is None:
            state = state.play(int(solver.best_actions(state)[0]))
            plies += 1
        assert plies == expected


def test_a_finished_game_has_the_score_of_its_result() -> None:
    solver = Connect4Solver(mebibytes=1)
    won = position("1212121")
    assert (solver.score(won), solver.plies_left(won)) == (-18, 0)
    assert solver.action_results(won).size == 0


@pytest.mark.slow
def test_only_the_middle_column_wins_from_the_empty_board() -> None:
    results = Connect4Solver(mebibytes=512).action_results(GAME.initial_state())
    assert results.tolist() == [-1, -1, 0, 1, 0, -1, -1]


def test_a_long_solution_can_be_stopped() -> None:
    solver = Connect4Solver(mebibytes=1)
    timer = threading.Timer(0.1, solver.stop)
    timer.start()
    with pytest.raises(zerogames.UserError, match="stopped"):
        solver.action_results(GAME.initial_state())
    timer.join()


def test_the_perfect_player_never_gives_away_what_it_has() -> None:
    solver = Connect4Solver()
    openings = RandomOpenings(GAME, 14, 1)
    for number in range(6):
        state = play_actions(GAME.initial_state(), openings[number].actions)
        value = solver.action_results(state).max() * (1 if state.to_play == 0 else -1)
        for side in (0, 1):
            players = [RandomPlayer(), RandomPlayer()]
            players[side] = PerfectPlayer(GAME)
            played = play_game(GAME, players, openings[number], Rules(), seed=number)
            assert played.fault is None
            gain = played.ending.result - value
            assert gain >= 0 if side == 0 else gain <= 0


def test_only_solved_games_have_a_perfect_player() -> None:
    assert parse_player("perfect").name == "perfect"
    with pytest.raises(zerogames.UserError, match="not solved"):
        parse_player("perfect").make(zerogames.get_game("othello"))
    with pytest.raises(zerogames.UserError, match="no settings"):
        parse_player("perfect:9")
