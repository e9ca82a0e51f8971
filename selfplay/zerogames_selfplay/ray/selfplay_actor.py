"""The remote side of self-play: a worker in an actor, wherever there is room for it.

It needs nothing from its node's disk: net and openings come with the call that makes it, and its
games leave in chunks, of which one at a time is on its way to the run's owner.
"""

import contextlib
import dataclasses
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import ray

from zerogames.search import PoolGames
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.outbox import Outbox, Parcel
from zerogames_selfplay.players.players import PlayersJob
from zerogames_selfplay.players.worker import Worker

_REPORT_S = 1.0
"""Seconds after which an actor on the owner's node reports, with or without games; one report costs
about a millisecond."""
_FAR_REPORT_S = 5.0
"""The same on other nodes, and how long a chunk is filled there."""
_POLL_S = 0.05


@dataclass(frozen=True, kw_only=True)
class WorkerReport:
    """What an actor has done since it was made."""

    counts: Counts
    """Without games: the owner counts those that are durable."""
    parcel: Parcel | None
    """Games that the owner has not acknowledged."""
    running: bool
    """False once all games are played and acknowledged."""
    pid: int
    node: str
    """The host's name."""
    seconds: float
    """Since it began to play."""
    net_age_s: float
    """Seconds since it got its net."""


@dataclass(frozen=True, kw_only=True)
class WorkerFiles:
    """What a worker would read from the disk; it may be sent to other nodes."""

    net: bytes | None
    openings: bytes | None


class SelfplayActor:
    """A worker with one lane unless the settings say more."""

    def __init__(
        self, job: PlayersJob, games: PoolGames, files: WorkerFiles, owner_node: str
    ) -> None:
        settings = job.settings
        is_far = ray.get_runtime_context().get_node_id() != owner_node
        self._report_s = _FAR_REPORT_S if is_far else _REPORT_S
        settings = dataclasses.replace(
            settings,
            lanes=settings.lanes or 1,
            sync_s=max(settings.sync_s, _FAR_REPORT_S) if is_far else settings.sync_s,
        )
        self._job = dataclasses.replace(job, settings=settings)
        self._games = games
        self._files = files
        self._outbox = Outbox()
        self._is_wanted = threading.Event()
        self._begun_at = self._net_at = 0.0

    @cached_property
    def _worker(self) -> Worker:
        # Not made in __init__, so that its errors are those of a call.
        self._begun_at = self._net_at = time.monotonic()
        with _as_files(self._files) as (net, openings):
            settings = dataclasses.replace(self._job.settings, openings=openings)
            job = dataclasses.replace(self._job, net=net, settings=settings)
            return Worker(job, self._games, self._outbox)

    def run(self, acknowledged: int) -> WorkerReport:
        """Report when there is a chunk, or after a while; the lanes never pause between calls."""
        self._outbox.acknowledge(acknowledged)
        worker, deadline = self._worker, time.monotonic() + self._report_s
        while worker.running and not self._outbox.is_full and not self._is_wanted.is_set():
            if (left := deadline - time.monotonic()) <= 0:
                break
            worker.poll(min(left, _POLL_S))
        self._is_wanted.clear()
        if not worker.running:
            worker.poll(0.0)  # Raises what ended a lane.
            worker.close()
        return self._report()

    @ray.method(concurrency_group="control")
    def hurry(self) -> None:
        """Let the present call of `run` report now."""
        self._is_wanted.set()

    def pause(self, acknowledged: int) -> WorkerReport:
        """Pause; called again until no finished game is left."""
        self._outbox.acknowledge(acknowledged)
        self._worker.pause()
        return self._report()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._worker.resume()

    def use_net(self, files: WorkerFiles) -> None:
        """Use another net from the next batch on."""
        with _as_files(files) as (path, _):
            assert path is not None
            self._worker.use_net(path)
        self._net_at = time.monotonic()

    def close(self, acknowledged: int) -> WorkerReport:
        """Stop; called again until no finished game is left."""
        self._outbox.acknowledge(acknowledged)
        self._worker.close()
        return self._report()

    def _report(self) -> WorkerReport:
        counts, parcel, now = self._worker.counts(), self._outbox.parcel, time.monotonic()
        return WorkerReport(
            counts=counts,
            parcel=parcel,
            running=self._worker.running or parcel is not None,
            pid=os.getpid(),
            node=os.uname().nodename,
            seconds=now - self._begun_at,
            net_age_s=now - self._net_at,
        )


@contextlib.contextmanager
def _as_files(files: WorkerFiles) -> Iterator[tuple[Path | None, Path | None]]:
    """Files of net and openings that are removed at once: a killed actor would leave them."""
    with tempfile.TemporaryDirectory(prefix="zerogames-") as folder:
        net, openings = Path(folder) / "net.safetensors", Path(folder) / "openings.txt"
        pairs = ((net, files.net), (openings, files.openings))
        for path, content in pairs:
            if content is not None:
                path.write_bytes(content)
        yield (
            None if files.net is None else net,
            None if files.openings is None else openings,
        )
