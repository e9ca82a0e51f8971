"""The folder of a training run.

- `run.json`: settings, version, commit, sessions;
- `shards/`: records of self-play, `<session>-...parquet`;
- `set-aside/`: shards that turned out to be damaged;
- `checkpoints/step-00001000/`: the trainer's state;
- `nets/step-00001000.safetensors`: nets that played, `net.safetensors` the one that plays now;
- `metrics.jsonl`, `ratings.jsonl`: a line for each generation, for each rated net;
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
from zerogames_selfplay.run_folder import NET_NAME, RUN_NAME, source_commit
from zerogames_selfplay.training.settings import TrainSettings

KIND = "train"


@dataclass(frozen=True, kw_only=True)
class TrainFolder:
    """Paths of a training run; `session` counts how often it was started."""

    path: Path
    session: int

    @property
    def shards(self) -> Path:
        """Records of self-play."""
        return self.path / "shards"

    @property
    def checkpoints(self) -> Path:
        """Of the trainer."""
        return self.path / "checkpoints"

    @property
    def nets(self) -> Path:
        """Nets that played."""
        return self.path / "nets"

    @property
    def net(self) -> Path:
        """The net that plays now."""
        return self.path / NET_NAME

    def checkpoint_at(self, step: int) -> Path:
        """The trainer's state after a step."""
        return self.checkpoints / f"step-{step:08d}"

    def net_at(self, step: int) -> Path:
        """The net made after a step."""
        return self.nets / f"step-{step:08d}.safetensors"


def default_folder(game: str) -> Path:
    """`runs/<game>-train` with characters that every file system takes."""
    name = game.replace(":", "-").replace(",", "-").replace("=", "")
    return Path("runs") / f"{name}-train"


def steps_in(folder: Path) -> list[int]:
    """The numbers of the `step-...` entries of a folder, ascending."""
    names = [path.name.partition(".")[0] for path in folder.glob("step-*")]
    return sorted(int(name[5:]) for name in names if name[5:].isdecimal())


def read_run_settings(path: Path) -> TrainSettings | None:
    """The settings of the run in a folder, if there is one."""
    table = _read_table(path)
    return None if table is None else make_settings(TrainSettings, table["settings"])


def open_folder(settings: TrainSettings, game: Game) -> TrainFolder:
    """Make or continue a run's folder; note what was asked for and from which source."""
    path = settings.out or default_folder(settings.game)
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file; give a folder with --out")
    earlier = _read_table(path)
    if earlier is not None and earlier["game"] != game.spec.identity:
        raise UserError(
            f"{path} trains {earlier['game']}, not {game.spec.identity}; "
            "give another folder with --out"
        )
    sessions = [] if earlier is None else list(earlier["sessions"])
    sessions.append({"started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    table = {
        "kind": KIND,
        "game": game.spec.identity,
        "session": len(sessions) - 1,
        "sessions": sessions,
        "version": __version__,
        "commit": source_commit(),
        "seed": settings.seed,
        "settings": to_table(settings),
    }
    path.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path / RUN_NAME, json.dumps(table, indent=2) + "\n")
    folder = TrainFolder(path=path, session=len(sessions) - 1)
    for part in (folder.shards, folder.checkpoints, folder.nets):
        part.mkdir(exist_ok=True)
    return folder


def _read_table(path: Path) -> dict[str, Any] | None:
    file = path / RUN_NAME
    if not file.exists():
        if path.is_dir() and any(path.iterdir()):
            raise UserError(f"{path} is not empty and has no {RUN_NAME}; give another --out")
        return None
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
        if table.get("kind") != KIND:
            raise UserError(
                f"{path} is not the folder of a training run; give another one with --out"
            )
        if not isinstance(table["sessions"], list) or not isinstance(table["settings"], dict):
            raise UserError(f"{file}: damaged; give another --out")
        return dict(table)
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{file}: damaged ({error}); give another --out") from None
