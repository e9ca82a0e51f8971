"""The folder of a training run.

- `run.json`: settings, version, commit, sessions;
- `shards/`: records of self-play, `<session>-...parquet`;
- `set-aside/`: shards that turned out to be damaged;
- `checkpoints/step-00001000/`: the trainer's state;
- `nets/step-00001000.safetensors`: nets that played, `net.safetensors` the one that plays now;
- `metrics.jsonl`, `ratings.jsonl`: a line for each generation, for each rated net;
- `events.*`: the same for TensorBoard.
"""

from dataclasses import dataclass
from pathlib import Path

from zerogames.config import make_settings, to_table
from zerogames.game import Game
from zerogames.runs.folder import NET_NAME, default_folder, open_run, read_run
from zerogames_selfplay.loop.settings import TrainSettings

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


def steps_in(folder: Path) -> list[int]:
    """The numbers of the `step-...` entries of a folder, ascending."""
    names = [path.name.partition(".")[0] for path in folder.glob("step-*")]
    return sorted(int(name[5:]) for name in names if name[5:].isdecimal())


def run_path(settings: TrainSettings) -> Path:
    """The folder asked for, or the game's own."""
    return settings.out or default_folder(settings.game, KIND)


def read_run_settings(path: Path) -> TrainSettings | None:
    """The settings of the run in a folder, if there is one."""
    table = read_run(path, KIND)
    return None if table is None else make_settings(TrainSettings, table["settings"])


def open_folder(settings: TrainSettings, game: Game) -> TrainFolder:
    """Make or continue a run's folder."""
    path = run_path(settings)
    with open_run(path, kind=KIND, game=game.spec.identity, settings=to_table(settings)) as run:
        run.begin()
        folder = TrainFolder(path=path, session=run.session)
    for part in (folder.shards, folder.checkpoints, folder.nets):
        part.mkdir(exist_ok=True)
    return folder
