"""The folder of a pretraining run.

- `run.json`: settings, version, commit, sessions;
- `checkpoints/step-00001000/`: the trainer's state;
- `net.safetensors`: the newest net, with its metrics, and `MODEL_CARD.md` about it;
- `metrics.jsonl`: a line for each report, and for each validation (with a `validation` table);
- `events.*`: the same for TensorBoard.
"""

from dataclasses import dataclass
from pathlib import Path

from zerogames.config import make_settings, to_table
from zerogames.game import Game
from zerogames.pretrain.settings import PretrainSettings
from zerogames.runs.folder import NET_NAME, default_folder, open_run, read_run

KIND = "pretrain"


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
        return self.path / NET_NAME

    @property
    def card(self) -> Path:
        """About the net."""
        return self.path / "MODEL_CARD.md"

    @property
    def metrics(self) -> Path:
        """Lines of JSON."""
        return self.path / "metrics.jsonl"


def run_path(settings: PretrainSettings) -> Path:
    """The folder asked for, or the game's own."""
    return settings.out or default_folder(settings.game, KIND)


def read_run_settings(path: Path) -> PretrainSettings | None:
    """The settings of the run in a folder, if there is one."""
    table = read_run(path, KIND)
    return None if table is None else make_settings(PretrainSettings, table["settings"])


def open_folder(settings: PretrainSettings, game: Game) -> PretrainFolder:
    """Make or continue a run's folder."""
    stored = to_table(settings) | {"data": [str(path) for path in settings.data]}
    path = run_path(settings)
    with open_run(path, kind=KIND, game=game.spec.identity, settings=stored) as run:
        run.begin()
    return PretrainFolder(path)
