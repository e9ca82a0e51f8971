"""Training: settings, the trainer and its checkpoints, the window over self-play, validation."""

from zerogames.lazy import import_on_use

# Settings are read by commands that need no torch.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
