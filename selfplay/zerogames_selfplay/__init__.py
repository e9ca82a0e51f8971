"""Self-play and training from nothing, in one process or with Ray.

- `players`: plays games and writes the records;
- `loop`: the loop of self-play, training and rating;
- `ray`: players, learner and rater as Ray actors;
- `selfplay`, `training`: whole runs in a folder; `commands` shows them on a terminal.
"""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use

if TYPE_CHECKING:
    from zerogames_selfplay.loop.settings import TrainSettings
    from zerogames_selfplay.players.settings import SelfplaySettings
    from zerogames_selfplay.selfplay import SelfplayResult, run_selfplay
    from zerogames_selfplay.training import TrainingResult, run_training
else:
    # The commands read settings without torch and Ray.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "loop.settings": ("TrainSettings",),
            "players.settings": ("SelfplaySettings",),
            "selfplay": ("SelfplayResult", "run_selfplay"),
            "training": ("TrainingResult", "run_training"),
        },
    )

__all__ = [
    "SelfplayResult",
    "SelfplaySettings",
    "TrainSettings",
    "TrainingResult",
    "run_selfplay",
    "run_training",
]
