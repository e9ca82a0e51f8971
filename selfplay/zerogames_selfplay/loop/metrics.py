"""The log of a training run: metrics of each generation, ratings, and TensorBoard's events."""

from collections.abc import Mapping
from typing import Any

from zerogames.runs.folder import RunPaths
from zerogames.runs.metrics_log import Events, JsonLines


class MetricsLog:
    """Metrics and ratings of a run."""

    def __init__(self, paths: RunPaths, *, step: int) -> None:
        self.metrics = JsonLines(paths.metrics, last_step=step)
        self.ratings = JsonLines(paths.ratings, last_step=step)
        self._events = Events(paths.path, step=step)

    def add_metrics(self, line: Mapping[str, Any]) -> None:
        """Write the metrics of a generation."""
        self.metrics.add(line)
        self._events.add("train", line)

    def add_rating(self, line: Mapping[str, Any]) -> None:
        """Write the rating of a net."""
        self.ratings.add(line)
        self._events.add("rating", {key: line[key] for key in ("step", "elo", "low", "high")})
