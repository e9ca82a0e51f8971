"""Self-play and training from nothing, in one process or with Ray.

- `players`: plays games and writes the records;
- `loop`: the loop of self-play, training and rating;
- `ray`: players, learner and rater as Ray actors;
- `selfplay`, `training`: whole runs in a folder; `commands` shows them on a terminal.
"""

from zerogames.lazy import import_on_use

# The commands read settings without torch and Ray.
__getattr__, __dir__, __all__ = import_on_use(__name__, __file__)
