"""Handling of files and games that cannot be read: skip and count them, or stop."""

import threading
from collections.abc import Sequence
from typing import Literal

from zerogames.errors import UserError

OnProblem = Literal["skip", "stop"]
MAX_NAMED = 1000
"""More are counted but not remembered by name."""


class Problems:
    """Collects what was wrong, from several threads; with `stop` the first one is raised."""

    def __init__(self, on_problem: OnProblem = "skip") -> None:
        self.on_problem = on_problem
        self._lock = threading.Lock()
        self._named: list[tuple[str, str]] = []
        self.count = 0
        """The number of files and games that were skipped."""

    def add(self, name: str, reason: str) -> None:
        """Note that the file, member or game `name` was skipped; raise `UserError` with `stop`."""
        reason = reason.removeprefix(f"{name}: ")
        if self.on_problem == "stop":
            raise UserError(f"{name}: {reason} (skip such files with --on-problem skip)")
        with self._lock:
            self.count += 1
            if len(self._named) < MAX_NAMED:
                self._named.append((name, reason))

    @property
    def named(self) -> Sequence[tuple[str, str]]:
        """Names and reasons, at most `MAX_NAMED`, sorted by name."""
        with self._lock:
            return sorted(self._named)
