import subprocess
import sys
from pathlib import Path

import pytest

from zerogames.cli import find_commands, main, read_purpose


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
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert main([]) == 2
    assert capsys.readouterr().err == out
    for name in find_commands():
        assert f"\n  {name} " in out


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m zerogames games | true"
    done = subprocess.run(script, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def imported_modules(script: str) -> set[str]:
    """Names of the modules that a new interpreter has imported after running the script."""
    script = f"import sys; before = set(sys.modules)\n{script}\nprint(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {"torch", "ray", "onnx", "onnxruntime", "matplotlib", "pandas", "PIL"}
RUN = "import zerogames.cli; zerogames.cli.main({})"


def test_importing_the_package_imports_no_numpy() -> None:
    modules = imported_modules("import zerogames")
    assert not modules & {*HEAVY, "numpy", "pydantic", "rich"}
    assert len(modules) < 50, sorted(modules)


def test_the_list_of_commands_imports_none_of_them() -> None:
    modules = imported_modules(RUN.format(["--help"]))
    assert not modules & {*HEAVY, "numpy", "pydantic", "rich", "tyro"}
    ours = {name for name in modules if name.startswith("zerogames")}
    assert ours <= {
        f"zerogames{part}"
        for part in ("", ".cli", ".commands", ".errors", ".lazy", ".openmp", ".version")
    }
    assert len(modules) < 200, sorted(modules)


def test_start_up_imports_no_torch() -> None:
    assert not imported_modules(RUN.format(["games"])) & {*HEAVY, "pyarrow"}


def test_what_plugins_offer_is_listed_without_torch() -> None:
    modules = imported_modules(
        "from zerogames.export.formats import format_names\n"
        "from zerogames.nets.foreign import net_suffixes\n"
        "assert '.pb.gz' in net_suffixes() and 'lc0' in format_names()"
    )
    assert not modules & HEAVY


@pytest.mark.parametrize("name", find_commands())
def test_the_help_of_a_command_imports_no_torch(name: str) -> None:
    run = RUN.format([name, "--help"])
    modules = imported_modules(f"try:\n    {run}\nexcept SystemExit:\n    pass")
    assert not modules & HEAVY
    assert len(modules) < 800, len(modules)


def test_purposes_are_read_without_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "other_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "command.py").write_text('"""Do it.\n\nAt length."""\nimport nowhere\n')
    (package / "silent.py").write_text("import nowhere\n")
    (package / "broken.py").write_text("def (\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert read_purpose("other_package.command") == "Do it."
    for name in ("silent", "broken", "missing", "missing.module"):
        assert read_purpose(f"other_package.{name}") == ""
    assert read_purpose("no_such_package.command") == ""
    assert all(read_purpose(point.module) for point in find_commands().values())
