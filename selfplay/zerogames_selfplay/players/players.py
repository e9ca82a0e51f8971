"""The interface of everything that plays games, and what it is told."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zerogames.runs.worker_health import WorkerHealth
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.settings import SelfplaySettings


@dataclass(frozen=True, kw_only=True)
class PlayersJob:
    """What players play, and where the records go."""

    settings: SelfplaySettings
    net: Path | None
    """The net's file; None for evaluators without a net."""
    folder: Path
    """Folder of the shards."""
    prefix: str
    """First part of the shards' names; no other session of the run has it."""
    seed: int
    """Decides all games of the session."""


class Players(Protocol):
    """Plays the games of a session: a `Worker` in this process, or `RayPlayers`."""

    @property
    def running(self) -> bool:
        """Whether games are left to play."""

    @property
    def restarts(self) -> int:
        """Actors that died and were replaced."""

    @property
    def shards(self) -> Sequence[Path]:
        """The shards that are on disk."""

    def poll(self, timeout_s: float = 0.2) -> None:
        """Wait for finished games and write what is due; raise what went wrong."""

    def counts(self) -> Counts:
        """What was played so far; games count when they are on disk."""

    def health(self) -> Sequence[WorkerHealth]:
        """The state of each worker, if there are processes of workers."""

    def pause(self) -> None:
        """Pause between two batches, with every finished game written."""

    def resume(self) -> None:
        """Continue all games after `pause`."""

    def use_net(self, net: Path) -> None:
        """Use another net from the next batch on, in games that have begun too."""

    def close(self) -> None:
        """Stop and write every finished game; unfinished games are dropped."""
