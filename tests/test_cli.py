import subprocess
import sys

import pytest

from zerogames.cli import find_commands, main


def test_games_lists_every_game(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("connect4", "othello"))


def test_games_shows_one_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "othello:size=6"]) == 0
    out = capsys.readouterr().out
    assert "Rows and columns of the board" in out
    assert "37" in out
    assert "6/6/2ox2/2xo2/6/6 x" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gmaes"], "did you mean 'games'"),
        (["games", "othelo"], "did you mean 'othello'"),
        (["games", "othello:size=5"], "4, 6 or 8"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    for name in find_commands():
        assert f"\n  {name} " in out


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m zerogames games | true"
    done = subprocess.run(script, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_start_up_imports_no_torch() -> None:
    script = (
        "import sys, zerogames.cli; zerogames.cli.main(['games']); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
