"""Training: settings, the trainer and its checkpoints, the window over self-play, validation."""

from importlib import import_module
from typing import TYPE_CHECKING

from zerogames.train.settings import TrainerSettings
from zerogames.train.window_settings import WindowSettings, window_size

if TYPE_CHECKING:
    from zerogames.train.replay_window import ReplayWindow
    from zerogames.train.trainer import Trainer

_MODULES = {
    "replay_window": ("ReplayWindow",),
    "trainer": ("Trainer",),
}

__all__ = ["ReplayWindow", "Trainer", "TrainerSettings", "WindowSettings", "window_size"]


def __getattr__(name: str) -> object:
    # Settings are read by commands that need no torch.
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"zerogames.train.{module}"), name)
    raise AttributeError(f"module 'zerogames.train' has no attribute '{name}'")
