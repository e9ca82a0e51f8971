"""Players by name, players that search, and the second-best rule."""

import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerogames.arena.match_folder import StoredGame
from zerogames.arena.mcts_player import MctsPlayer
from zerogames.arena.players import MoveLimits, Position, parse_player, parse_players
from zerogames.arena.time_control import TimeControl
from zerogames.arena.variety import choose_by_evaluations
from zerogames.errors import UserError
from zerogames.registry import get_game

Run = Callable[..., list[StoredGame]]


def test_players_are_named_by_what_makes_a_difference() -> None:
    python = sys.executable
    spec = parse_player(f"uci:{python} -q?Threads=1&UCI_LimitStrength=true&UCI_Elo=1350")
    assert spec.name == f"{Path(python).name} UCI_Elo=1350"
    assert parse_player(f"gtp:{python} --mode gtp --level 1").name.endswith("--level 1")
    assert parse_player("Mia=mcts:50").name == "Mia"
    assert [one.name for one in parse_players(["random", "random"])] == ["random", "random #2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("randm", "did you mean 'random'"),
        ("random:5", "no settings"),
        ("mcts:x", "mcts:1000"),
        ("uci:", "needs a command"),
        ("uci:/no/such/engine", "no program '/no/such/engine'"),
        (f"uci:{sys.executable}?Threads", "Option=value"),
        (f"uci:{sys.executable}?nodes=-1", "positive"),
        ("gtp:'", "command"),
    ],
)
def test_a_wrong_player_is_named(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        parse_player(text)


def position_of(game_name: str, moves: str) -> Position:
    game = get_game(game_name)
    state = game.initial_state()
    actions, movers = [], []
    for move in moves.split():
        actions.append(game.parse_action(state, move))
        movers.append(state.to_play)
        state = state.play(actions[-1])
    return Position(
        game=game, start="", actions=actions, moves=moves.split(), movers=movers, state=state
    )


UNLIMITED = MoveLimits(control=TimeControl(), remaining_s=(1e9, 1e9), deadline_s=60)


@pytest.mark.parametrize(
    ("moves", "best"), [("4 1 4 1 4 2", "4"), ("4 1 4 1 4", "4"), ("3 1 4 1", "5")]
)
def test_mcts_wins_blocks_and_builds_a_double_threat(moves: str, best: str) -> None:
    position = position_of("connect4", moves)
    choice = MctsPlayer(1500).choose(position, UNLIMITED)
    assert choice.action is not None
    assert position.game.format_action(position.state, choice.action) == best
    assert choice.nodes == 1500


def test_mcts_keeps_to_the_clock() -> None:
    limits = MoveLimits(
        control=TimeControl.parse("3+0.1"), remaining_s=(3.0, 3.0), deadline_s=3.0, moves_to_go=0
    )
    began = time.monotonic()
    choice = MctsPlayer(None).choose(position_of("connect4", ""), limits)
    assert time.monotonic() - began < 3
    assert choice.nodes
    with pytest.raises(UserError, match="needs a limit"):
        MctsPlayer(None).choose(position_of("connect4", ""), UNLIMITED)


def test_more_rollouts_are_stronger(run: Run) -> None:
    games = run("random", "mcts:10", "mcts:200", games=12)
    points = {"random": 0.0, "mcts:10": 0.0, "mcts:200": 0.0}
    for stored in games:
        points[stored.first] += (1 + stored.result) / 2
        points[stored.second] += (1 - stored.result) / 2
    assert len(games) == 36
    assert points["mcts:200"] > points["mcts:10"] > points["random"]


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20), st.floats(0, 1, exclude_max=True))
def test_second_best_is_played_only_when_it_is_close(visits: list[int], uniform: float) -> None:
    chosen = choose_by_evaluations(visits, uniform)
    ordered = sorted(visits, reverse=True)
    close = ordered[1] > 0.8 * ordered[0]
    second = close and uniform < ordered[1] / (ordered[0] + ordered[1])
    assert visits[chosen] == ordered[1 if second else 0]


def test_second_best_is_played_in_proportion_to_its_evaluations() -> None:
    rng = random.Random(0)
    chosen = [choose_by_evaluations([10, 100, 90], rng.random()) for _ in range(20_000)]
    assert chosen.count(2) / 20_000 == pytest.approx(90 / 190, abs=0.01)
    assert 0 not in chosen
    assert {choose_by_evaluations([100, 80], rng.random()) for _ in range(1000)} == {0}
    assert choose_by_evaluations([7], 0.1) == 0
