"""Training: settings, the trainer and its checkpoints, the window over self-play, validation."""

from typing import TYPE_CHECKING

from zerogames.lazy import import_on_use
from zerogames.train.settings import TrainerSettings
from zerogames.train.window_settings import WindowSettings, window_size

if TYPE_CHECKING:
    from zerogames.train.checkpoint_folder import CheckpointFolder, Resumed
    from zerogames.train.replay_window import Draws, ReplayWindow
    from zerogames.train.trainer import Trainer
    from zerogames.train.validation import validate
else:
    # Settings are read by commands that need no torch.
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "checkpoint_folder": ("CheckpointFolder", "Resumed"),
            "replay_window": ("Draws", "ReplayWindow"),
            "trainer": ("Trainer",),
            "validation": ("validate",),
        },
    )

__all__ = [
    "CheckpointFolder",
    "Draws",
    "ReplayWindow",
    "Resumed",
    "Trainer",
    "TrainerSettings",
    "WindowSettings",
    "validate",
    "window_size",
]
