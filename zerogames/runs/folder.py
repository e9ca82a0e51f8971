"""The folder of a run: who may write into it, what was asked for, and what lies where in it.

- `run.json`: kind, game, settings, version, commit, and the times of all sessions;
- `net.safetensors`: the net that plays now, or the newest one; `MODEL_CARD.md` describes it;
- `nets/step-00001000.safetensors`: nets that played;
- `shards/`: records of self-play, `<session>-...parquet`, and `.journal` for those in no shard yet;
- `set-aside/`: damaged files of records;
- `checkpoints/step-00001000/`: the trainer's state;
- `workers.json`: what is known of each worker;
- `metrics.jsonl`, `ratings.jsonl`: a line for each report, for each rated net;
- `events.*`: the same for TensorBoard.

Work in chunks (labels, lines) has `settings.json` instead of `run.json`: all its sessions must have
the same settings.
"""

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zerogames.atomic import TEMPORARY_SUFFIX, remove_abandoned
from zerogames.errors import UserError
from zerogames.runs.lock import LOCK_NAME, LockedFolder
from zerogames.version import __version__

RUN_NAME = "run.json"
SETTINGS_NAME = "settings.json"
NET_NAME = "net.safetensors"


class RunPaths:
    """The paths of a run's files; they may be sent to other processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.net = path / NET_NAME
        """The net that plays now, or the newest one."""
        self.nets = path / "nets"
        """Folder of the nets that played."""
        self.card = path / "MODEL_CARD.md"
        """The text that describes the net."""
        self.shards = path / "shards"
        """Folder of the records of self-play."""
        self.set_aside = path / "set-aside"
        """Folder of the damaged files of records."""
        self.checkpoints = path / "checkpoints"
        """Folder of the trainer's states."""
        self.metrics = path / "metrics.jsonl"
        """Lines of JSON, one for each report."""
        self.ratings = path / "ratings.jsonl"
        """Lines of JSON, one for each rated net."""

    def net_at(self, step: int) -> Path:
        """The net that was made after a training step."""
        return self.nets / f"step-{step:08d}.safetensors"


class RunFolder(LockedFolder):
    """The open folder of a run: locked and checked, but not changed before `begin`."""

    def __init__(
        self, path: str | Path, *, kind: str, game: str, settings: Mapping[str, Any]
    ) -> None:
        """Open a folder, which need not exist, to begin or continue a run; `close` unlocks it.

        Args:
            path: The folder.
            kind: The command, such as `train`.
            game: The game's identity, such as `go:size=9`.
            settings: Tables of plain values (`zerogames.config.to_table`).

        Raises:
            UserError: for a folder that another process has open, or that holds something else.
        """
        path = Path(path)
        super().__init__(path)
        self.paths = RunPaths(path)
        self._session: int | None = None
        with self.released_on_error():
            earlier = read_run(path, kind)
            if earlier is None:
                _check_empty(path)
            elif earlier["game"] != game:
                raise UserError(
                    f"{path} holds a run of {earlier['game']}, not of {game}; "
                    "give another folder with --out"
                )
        self._sessions = [] if earlier is None else list(earlier["sessions"])
        self._about = {"kind": kind, "game": game}
        self._settings = settings

    @property
    def session(self) -> int:
        """The number of this session, from 0; no other session of the folder has it."""
        if self._session is None:
            raise RuntimeError("a session gets its number when it begins")
        return self._session

    def begin(self) -> None:
        """Begin a session, now that the command is accepted: write `run.json`.

        What killed sessions were writing goes, also where this one will write nothing.
        """
        started = {"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        table = self._about | {
            "sessions": [*self._sessions, started],
            "version": __version__,
            "commit": source_commit(),
            "settings": self._settings,
        }
        self.accept(RUN_NAME, json.dumps(table, indent=2) + "\n")
        remove_abandoned(self.path, below=True)
        self._session = len(self._sessions)


class SettingsFolder(LockedFolder):
    """A folder whose sessions all have the same settings, kept in `settings.json`."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Lock a folder, which need not exist; nothing is written before `begin`.

        `settings` are everything that decides what is made, not how fast it is made.
        """
        super().__init__(path)
        self._text = json.dumps(settings, indent=1, sort_keys=True, default=str)
        asked = json.loads(self._text)
        with self.released_on_error():
            known = read_table(path / SETTINGS_NAME)
            if known is not None and known != asked:
                keys = {key for key in known | asked if known.get(key) != asked.get(key)}
                raise UserError(
                    f"{path} was begun with other settings ({', '.join(sorted(keys))}); "
                    "use them or another folder"
                )
        self._is_new = known is None

    def begin(self) -> None:
        """Begin or continue, now that the command is accepted."""
        if self._is_new:
            self.accept(SETTINGS_NAME, self._text)


def default_folder(game: str, kind: str) -> Path:
    """`runs/<game>` for self-play, `runs/<game>-<kind>` for other kinds.

    The name has only characters that every file system takes.
    """
    name = game.replace(":", "-").replace(",", "-").replace("=", "")
    return Path("runs") / (name if kind == "selfplay" else f"{name}-{kind}")


def read_run(path: Path, kind: str | None = None) -> dict[str, Any] | None:
    """The `run.json` of a folder, or None if there is none; needs no lock.

    With `kind`, the command that must have made it, `run.json` must be complete, too. Raises
    `UserError` for a damaged file, or the folder of another command.
    """
    file = path / RUN_NAME
    table = read_table(file)
    if table is None or kind is None:
        return table
    kinds = {"kind": str, "game": str, "sessions": list, "settings": dict}
    for name, expected in kinds.items():
        if not isinstance(table.get(name), expected):
            raise UserError(
                f"{file}: damaged or of an older version ('{name}'); give another --out"
            )
    if table["kind"] != kind:
        raise UserError(
            f"{path} is the folder of `zerogames {table['kind']}`; give another one with --out"
        )
    return table


def read_table(file: Path) -> dict[str, Any] | None:
    """A JSON object in a file, or None if there is no file."""
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file}: damaged ({error}); give another folder") from None
    if not isinstance(table, dict):
        raise UserError(f"{file}: damaged (not a JSON object); give another folder")
    return table


def _check_empty(path: Path) -> None:
    """A new run may find a net to begin with, and what a killed start left; nothing else."""
    for found in path.iterdir():
        if found.name not in (NET_NAME, LOCK_NAME) and not found.name.endswith(TEMPORARY_SUFFIX):
            raise UserError(f"{path} is not empty and has no {RUN_NAME}; give another --out")


def source_commit() -> str:
    """The commit of the checkout this program runs from, or `unknown`."""
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
