"""What a training run writes down as it goes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zerogames.runs.metrics_log import Events, JsonLines, read_lines

METRICS_NAME = "metrics.jsonl"
RATINGS_NAME = "ratings.jsonl"

__all__ = ["METRICS_NAME", "RATINGS_NAME", "Journal", "JsonLines", "read_lines"]


class Journal:
    """Metrics and ratings of a run."""

    def __init__(self, folder: Path, *, step: int) -> None:
        self.metrics = JsonLines(folder / METRICS_NAME, last_step=step)
        self.ratings = JsonLines(folder / RATINGS_NAME, last_step=step)
        self._events = Events(folder, step=step)

    def add_metrics(self, line: Mapping[str, Any]) -> None:
        """Write the figures of a generation."""
        self.metrics.add(line)
        self._events.add("train", line)

    def add_rating(self, line: Mapping[str, Any]) -> None:
        """Write the rating of a net."""
        self.ratings.add(line)
        self._events.add("rating", {key: line[key] for key in ("step", "elo", "low", "high")})

    def close(self) -> None:
        """Write what is pending."""
        self._events.close()
