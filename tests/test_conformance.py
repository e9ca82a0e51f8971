import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zerogames
from zerogames.game import Game, State
from zerogames.testing import check_game

ROOT = Path(__file__).resolve().parents[1]
SMALL = {"go": ["go:size=5", "go:size=9,komi=7"], "othello": ["othello:size=6", "othello"]}


@pytest.mark.parametrize(
    "identity",
    [identity for name in zerogames.game_names() for identity in SMALL.get(name, [name])],
)
def test_every_installed_game_conforms(identity: str) -> None:
    check_game(zerogames.get_game(identity), num_games=3)


class Wrapped:
    """A real game with one thing wrong."""

    def __init__(self, game: Game, **wrong: object) -> None:
        self._game = game
        self.__dict__.update(wrong)

    def __getattr__(self, name: str) -> object:
        return getattr(self._game, name)


def test_the_check_finds_what_is_wrong() -> None:
    game = zerogames.get_game("connect4")

    def deaf(state: State, text: str) -> int:
        return 0

    wrong_games = {
        "no UserError": Wrapped(game, parse_action=deaf),
        "the first symmetry is the identity": Wrapped(game, symmetries=game.symmetries[::-1]),
        "loses the side to move": Wrapped(game, format_state=lambda state: "7/7/7/7/7/7 x"),
        "needs an encoding": Wrapped(game, encodings={}),
        "same text": Wrapped(game, format_action=lambda state, action: "1"),
    }
    for message, wrong in wrong_games.items():
        with pytest.raises((AssertionError, zerogames.UserError), match=message):
            check_game(wrong)  # type: ignore[arg-type]


def test_a_python_plugin_is_installed_and_discovered(tmp_path: Path) -> None:
    """The tic-tac-toe package of docs/adding_a_game.md, as a third party would install it."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run(
        [*install, "--no-build-isolation", "--target", tmp_path, ROOT / "tests" / "tictactoe"],
        check=True,
    )
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import gymnasium, zerogames, zerogames.gym
from zerogames.testing import check_game
game = zerogames.get_game("tictactoe")
check_game(game)
env = gymnasium.make("zerogames/TicTacToe-v0")
env.reset(seed=1)
assert zerogames.get_plugin("tictactoe").create.__module__ == "zerogames_tictactoe"
from zerogames.cli import main
raise SystemExit(main(["games"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "tictactoe" in done.stdout


def test_planes_may_be_given_only_as_the_right_array() -> None:
    state = zerogames.get_game("connect4").initial_state()
    for out in (np.empty((3, 6, 7)), np.empty((3, 7, 6), np.float32), np.empty(126, np.float32)):
        with pytest.raises(zerogames.UserError, match="float32"):
            state.observe("stones", out)  # type: ignore[arg-type]
