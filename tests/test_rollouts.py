"""Pure MCTS: what its numbers mean, and that it plays sensibly."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import zerogames
from zerogames.arena.mcts_player import MctsPlayer
from zerogames.arena.players import MoveLimits, Position
from zerogames.arena.time_control import TimeControl
from zerogames.game import State
from zerogames.search import new_rollouts

GAME = zerogames.get_game("connect4")


def position(moves: str, identity: str = "connect4") -> State:
    return zerogames.parse_position(zerogames.get_game(identity), "moves " + " ".join(moves))


@pytest.mark.parametrize("identity", ["connect4", "othello:size=6", "go:size=5", "chess"])
def test_visits_add_up_and_values_are_means_of_results(identity: str) -> None:
    game = zerogames.get_game(identity)
    state = game.initial_state()
    tree = new_rollouts(game, state, seed=3)
    tree.run(60)
    tree.run(40)
    assert tree.total == tree.visits.sum() == 100
    assert tree.actions.tolist() == state.legal_actions().tolist()
    assert (np.abs(tree.values) <= 1).all()
    assert tree.visits.min() >= 1  # every move is tried before any is tried again


def test_a_seed_gives_the_same_tree() -> None:
    visits = []
    for seed in (1, 1, 2):
        tree = new_rollouts(GAME, GAME.initial_state(), seed=seed)
        tree.run(500)
        visits.append(tree.visits.tolist())
    assert visits[0] == visits[1] != visits[2]


@pytest.mark.parametrize(("moves", "best"), [("121212", 0), ("121314", 0), ("12131", 0)])
def test_it_wins_at_once_and_blocks(moves: str, best: int) -> None:
    """Three stones in the first column: the mover completes them, the other one stops them."""
    tree = new_rollouts(GAME, position(moves), seed=0)
    tree.run(400)
    assert tree.actions[np.argmax(tree.visits)] == best


def test_values_are_the_movers_view() -> None:
    won = new_rollouts(GAME, position("121212"), seed=0)  # whoever moves has three upright
    won.run(400)
    assert won.values[0] == 1.0
    lost = new_rollouts(GAME, position("44335"), seed=0)  # three with two open ends
    lost.run(3000)
    assert lost.values.max() < -0.5


def test_a_finished_game_has_no_rollouts() -> None:
    tree = new_rollouts(GAME, position("1212121"))
    tree.run(10)
    assert tree.total == 0
    assert tree.actions.size == 0


def test_a_game_written_in_python_has_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples" / "tictactoe")
    plugin = importlib.import_module("zerogames_tictactoe").game
    game = plugin.create(plugin.options())
    state = zerogames.parse_position(game, "moves a1 b1 a2 b2")
    tree = new_rollouts(game, state, seed=0)
    tree.run(200)
    assert game.format_action(state, int(tree.actions[np.argmax(tree.visits)])) == "a3"


def test_the_player_keeps_to_its_limits() -> None:
    state = position("44")
    here = Position(
        game=GAME, start="", actions=[3, 3], moves=["4", "4"], movers=[0, 1], state=state
    )
    endless = float("inf")
    untimed = MoveLimits(control=TimeControl(), remaining_s=(endless, endless), deadline_s=9)
    choice = MctsPlayer(77).choose(here, untimed)
    assert choice.nodes == 77
    timed = MoveLimits(
        control=TimeControl(), remaining_s=(endless, endless), move_time_s=0.02, deadline_s=9
    )
    choice = MctsPlayer(None).choose(here, timed)
    assert choice.nodes is not None
    assert choice.nodes >= 32
    with pytest.raises(zerogames.UserError, match="limit"):
        MctsPlayer(None).choose(here, untimed)
