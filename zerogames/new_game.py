"""A package for a new game: a copy of the example, under another name."""

import keyword
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from zerogames.atomic import temporary_path
from zerogames.errors import UserError
from zerogames.registry import is_offered

EXAMPLE = "tictactoe"
"""The name of the example, in its files and their names."""


def write_package(name: str, folder: Path) -> list[Path]:
    """Write the package of a game called `name` into a new folder; return its files."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UserError(
            f"'{name}' cannot name a game; write small letters, digits and underscores, "
            "a letter first"
        )
    if is_offered(name) or find_spec(f"zerogames_{name}"):
        raise UserError(f"an installed package has the name '{name}' already; take another one")
    if folder.exists():
        raise UserError(f"{folder} exists; name another folder with --out")
    title = "".join(part.capitalize() for part in name.split("_"))
    names = {EXAMPLE: name, "TicTacToe": title, "tic-tac-toe": title, "Tic-tac-toe": title}

    def renamed(text: str) -> str:
        return re.sub("|".join(names), lambda match: names[match[0]], text)

    source, unfinished = _example(), temporary_path(folder)
    files = []
    try:
        unfinished.mkdir(parents=True)
        for path in sorted(source.rglob("*")):
            file = path.relative_to(source)
            if path.is_file() and "__pycache__" not in file.parts:
                files.append(Path(renamed(str(file))))
                target = unfinished / files[-1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(renamed(path.read_text()))
        unfinished.rename(folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise UserError(f"{folder}: {error.strerror}") from None
    return files


def _example() -> Path:
    """The checkout's folder, or the packaged copy."""
    package = Path(__file__).resolve().parent
    checkout = package.parent / "examples" / EXAMPLE
    return checkout if checkout.is_dir() else package / "template"
