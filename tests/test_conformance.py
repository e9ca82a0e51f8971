import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zerogames
from zerogames.cli import main
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


CHECK_PLUGIN = """
import sys
name, folder = sys.argv[1:]
sys.path.insert(0, folder)
import gymnasium, zerogames, zerogames.gym
from zerogames.testing import check_game
check_game(zerogames.get_game(name))
plugin = zerogames.get_plugin(name)
assert plugin.create.__module__.startswith(f"zerogames_{name}")
gymnasium.make(f"zerogames/{plugin.title}-v0").reset(seed=1)
from zerogames.cli import main
raise SystemExit(main(["games"]))
"""


def run_python(*arguments: str | Path, folder: Path) -> str:
    """Run Python in `folder`, where `site` has an installed plugin; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "site")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install_plugin(source: Path, folder: Path) -> None:
    """Build a plugin and install it into `folder / "site"`."""
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    run_python(*install, "--target", folder / "site", source, folder=folder)


def test_a_new_game_is_installed_and_played_as_it_is(tmp_path: Path) -> None:
    """The package that docs/adding_a_game.md starts from."""
    written = run_python("-m", "zerogames", "new-game", "gobblet_jr", folder=tmp_path)
    assert "zerogames_gobblet_jr/rules.py" in written
    assert not any(
        "toe" in file.read_text().lower()
        for file in (tmp_path / "gobblet_jr").rglob("*")
        if file.is_file()
    )
    install_plugin(tmp_path / "gobblet_jr", tmp_path)
    run_python("-c", CHECK_PLUGIN, "gobblet_jr", tmp_path / "site", folder=tmp_path)
    run_python("-m", "pytest", "-q", "gobblet_jr/tests", folder=tmp_path)
    command = "-m zerogames selfplay --game gobblet_jr --net mob_sd_1x8 --games 4 --simulations 4"
    run_python(*command.split(), folder=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Gobblet"], "small letters"),
        (["class"], "small letters"),
        (["chess"], "take another"),
        (["kernels"], "take another"),
        (["gobblet", "--out", "."], "name another folder"),
        (["gobblet", "--out", "file/gobblet"], "file/gobblet: Not a directory"),
    ],
)
def test_a_new_game_that_cannot_be_written_is_refused_in_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert main(["new-game", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_a_plugin_is_installed_and_discovered(tmp_path: Path) -> None:
    """The native package of docs/adding_a_game.md, as a third party would install it."""
    install_plugin(ROOT / "tests" / "nim", tmp_path)
    assert "nim" in run_python("-c", CHECK_PLUGIN, "nim", tmp_path / "site", folder=tmp_path)


@pytest.mark.slow
def test_a_native_plugin_plays_and_trains_with_a_pattern_and_a_preset_of_its_own(
    tmp_path: Path,
) -> None:
    """The last steps of docs/adding_a_game.md."""
    install_plugin(ROOT / "tests" / "nim", tmp_path)
    preset = ROOT / "tests" / "nim" / "quick.toml"
    for command in (
        "selfplay --game nim --games 40 --simulations 16 --out selfplay",
        f"train --preset {preset} --out trained",
        "match trained/net.safetensors@16 random --game nim --games 20",
    ):
        # The warning of a search that falls back to the adapter for Python rules is an error.
        run_python("-m", "zerogames", *command.split(), folder=tmp_path)


def test_a_native_game_compiles_against_the_installed_headers(tmp_path: Path) -> None:
    test = tmp_path / "nim_test.cpp"
    test.write_text(
        '#include "nim.hpp"\n#include "zerogames/game_test.hpp"\n'
        'int main() { zerogames::check_random_games(Nim(), Nim::parse_encoding("heaps"), {});'
        " return zerogames::report_checks(); }\n"
    )
    include = [f"-I{zerogames.get_include()}", f"-I{ROOT / 'tests' / 'nim'}"]
    program = tmp_path / "nim_test"
    subprocess.run(["g++", "-std=c++20", *include, test, "-o", program], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    assert " 0 failed" in done.stdout


def test_planes_may_be_given_only_as_the_right_array() -> None:
    state = zerogames.get_game("connect4").initial_state()
    for out in (np.empty((3, 6, 7)), np.empty((3, 7, 6), np.float32), np.empty(126, np.float32)):
        with pytest.raises(zerogames.UserError, match="float32"):
            state.observe("stones", out)  # type: ignore[arg-type]
