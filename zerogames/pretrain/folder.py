"""The folder of a pretraining run.

- `run.json`: settings, version, sessions;
- `checkpoints/step-00001000/`: the trainer's state;
- `net.safetensors`: the newest net, with its metrics, and `MODEL_CARD.md` about it;
- `metrics.jsonl`: a line for each report, and for each validation (with a `validation` table);
- `events.*`: the same for TensorBoard.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zerogames import __version__
from zerogames.atomic import write_text_atomically
from zerogames.config import make_settings, to_table
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.pretrain.settings import PretrainSettings

KIND = "pretrain"
RUN_NAME = "run.json"


@dataclass(frozen=True)
class PretrainFolder:
    """Paths of a run."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Of the trainer."""
        return self.path / "checkpoints"

    @property
    def net(self) -> Path:
        """The newest net."""
        return self.path / "net.safetensors"

    @property
    def card(self) -> Path:
        """About the net."""
        return self.path / "MODEL_CARD.md"

    @property
    def metrics(self) -> Path:
        """Lines of JSON."""
        return self.path / "metrics.jsonl"


def default_folder(game: str) -> Path:
    """`runs/<game>-pretrain` with characters that every file system takes."""
    name = game.replace(":", "-").replace(",", "-").replace("=", "")
    return Path("runs") / f"{name}-pretrain"


def read_run_settings(path: Path) -> PretrainSettings | None:
    """The settings of the run in a folder, if there is one."""
    table = _read_table(path)
    return None if table is None else make_settings(PretrainSettings, table["settings"])


def open_folder(settings: PretrainSettings, game: Game) -> PretrainFolder:
    """Make or continue a run's folder; note what was asked for."""
    path = settings.out or default_folder(settings.game)
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; give a folder with --out")
    earlier = _read_table(path)
    if earlier is not None and earlier["game"] != game.spec.identity:
        raise UserError(
            f"{path} learns {earlier['game']}, not {game.spec.identity}; "
            "give another folder with --out"
        )
    sessions = [] if earlier is None else list(earlier["sessions"])
    sessions.append({"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    stored = to_table(settings)
    stored["data"] = [str(path) for path in settings.data]
    table = {
        "kind": KIND,
        "game": game.spec.identity,
        "sessions": sessions,
        "version": __version__,
        "settings": stored,
    }
    path.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path / RUN_NAME, json.dumps(table, indent=2) + "\n")
    return PretrainFolder(path)


def _read_table(path: Path) -> dict[str, Any] | None:
    file = path / RUN_NAME
    if not file.exists():
        if path.is_dir() and any(path.iterdir()):
            raise UserError(f"{path} is not empty and has no {RUN_NAME}; give another --out")
        return None
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        if table.get("kind") != KIND:
            raise UserError(f"{path} is not the folder of a pretraining run; give another --out")
        if not isinstance(table["sessions"], list) or not isinstance(table["settings"], dict):
            raise UserError(f"{file}: damaged; give another --out")
        return dict(table)
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{file}: damaged ({error}); give another --out") from None
