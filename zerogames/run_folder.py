"""What every run's folder has: `run.json` with what was asked for, and how often it was started."""

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zerogames import __version__
from zerogames.atomic import TEMPORARY_SUFFIX, write_text_atomically
from zerogames.errors import UserError
from zerogames.game import Game

RUN_NAME = "run.json"
NET_NAME = "net.safetensors"


def default_folder(game: str, kind: str) -> Path:
    """`runs/<game>` or, unless it is of self-play, `runs/<game>-<kind>`.

    Characters are such as every file system takes.
    """
    name = game.replace(":", "-").replace(",", "-").replace("=", "")
    return Path("runs") / (name if kind == "selfplay" else f"{name}-{kind}")


def begin_session(path: Path, kind: str, game: Game, settings: Mapping[str, Any]) -> int:
    """Make or continue a run's folder; note what is asked for and from which source.

    Returns the number of earlier starts. Raises `UserError` for a folder of something else.
    """
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; give a folder with --out")
    earlier = read_run(path, kind)
    if earlier is not None and earlier["game"] != game.spec.identity:
        raise UserError(
            f"{path} holds a run of {earlier['game']}, not of {game.spec.identity}; "
            "give another folder with --out"
        )
    sessions = [] if earlier is None else list(earlier["sessions"])
    sessions.append({"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    table = {
        "kind": kind,
        "game": game.spec.identity,
        "sessions": sessions,
        "version": __version__,
        "commit": source_commit(),
        "settings": settings,
    }
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path / RUN_NAME, json.dumps(table, indent=2) + "\n")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return len(sessions) - 1


def read_run(path: Path, kind: str) -> dict[str, Any] | None:
    """The `run.json` of a folder, None if nothing was begun there.

    Raises `UserError` if the folder holds something else or the file is damaged.
    """
    file = path / RUN_NAME
    if not file.exists():
        if path.is_dir() and any(not _is_harmless(found) for found in path.iterdir()):
            raise UserError(f"{path} is not empty and has no {RUN_NAME}; give another --out")
        return None
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        found = table["kind"]
        sound = (
            isinstance(table["game"], str)
            and isinstance(table["sessions"], list)
            and isinstance(table["settings"], dict)
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{file}: damaged or of an older version ({error}); give another --out"
        ) from None
    if not sound:
        raise UserError(f"{file}: damaged; give another --out")
    if found != kind:
        raise UserError(f"{path} is the folder of `zerogames {found}`; give another one with --out")
    return dict(table)


def _is_harmless(path: Path) -> bool:
    """A net to begin with, or what a kill left of a first `run.json`."""
    return path.name == NET_NAME or path.name.endswith(TEMPORARY_SUFFIX)


def source_commit() -> str:
    """The commit of the checkout this program runs from, if it does."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
