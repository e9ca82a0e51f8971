"""Self-play as Ray actors.

Actors write their own shards, so a finished game never travels: what an actor had written before
it died counts, what it had only in memory is dropped, and its successor plays the rest of its
games with new seeds.
"""

import contextlib
import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import ray

from zerogames.data.shard import read_shard
from zerogames.runs.game_files import compact_journals
from zerogames.search import PoolGames
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.lane import split_games
from zerogames_selfplay.players.players import PlayersJob
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.players.worker import Worker
from zerogames_selfplay.ray.connection import RayConnection
from zerogames_selfplay.ray.supervised_actor import ActorDied, SupervisedActor

_CALL_S = 1.0
"""Seconds between two reports of an actor; one call costs a millisecond."""


@dataclass(frozen=True, kw_only=True)
class WorkerReport:
    """What an actor has done since it was made."""

    counts: Counts
    running: bool
    pid: int


class SelfplayActor:
    """The remote side: a worker with one lane unless the settings say more."""

    def __init__(self, job: PlayersJob, games: PoolGames, net: bytes | None) -> None:
        lanes = job.settings.lanes or 1
        settings = dataclasses.replace(job.settings, lanes=lanes)
        self._job = dataclasses.replace(job, settings=settings)
        self._games = games
        self._net = net

    @cached_property
    def _worker(self) -> Worker:
        # Not made in __init__, so that its errors are those of a call.
        with _net_file(self._net) as path:
            return Worker(dataclasses.replace(self._job, net=path), self._games)

    def run(self, seconds: float) -> WorkerReport:
        """Report after a while; the lanes never pause between calls."""
        self._worker.poll(seconds)
        if not self._worker.running:
            self._worker.close()
        return self._report()

    def pause(self) -> WorkerReport:
        """Pause, with every finished game written."""
        self._worker.pause()
        return self._report()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._worker.resume()

    def use_net(self, net: bytes) -> None:
        """Use another net from the next batch on."""
        with _net_file(net) as path:
            assert path is not None
            self._worker.use_net(path)

    def close(self) -> WorkerReport:
        """Stop and write every finished game."""
        self._worker.close()
        return self._report()

    def _report(self) -> WorkerReport:
        worker = self._worker
        return WorkerReport(counts=worker.counts(), running=worker.running, pid=os.getpid())


@contextlib.contextmanager
def _net_file(net: bytes | None) -> Iterator[Path | None]:
    """A file of the net that is removed afterwards: a killed actor would leave it behind."""
    if net is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="zerogames-") as folder:
        path = Path(folder) / "net.safetensors"
        path.write_bytes(net)
        yield path


@dataclass(kw_only=True)
class _RemoteWorker:
    """A worker of the run, with all actors that have played its games."""

    actor: SupervisedActor
    games: PoolGames
    """The games that the present actor began with."""
    prefix: str = ""
    """The prefix of the present actor's shards."""
    call: Any = None
    """The call of `run` that the actor works on."""
    report: WorkerReport | None = None
    done: bool = False


class RayPlayers:
    """Workers as Ray actors: the `Players` of the driver's process."""

    def __init__(self, job: PlayersJob, *, call_s: float = _CALL_S) -> None:
        settings = job.settings
        num_workers = max(1, settings.workers)
        self._job = dataclasses.replace(job, net=None, folder=job.folder.resolve())
        self._call_s = call_s
        self._past = Counts()
        """Counts of actors that have ended."""
        self._paused = False
        self._connection = RayConnection(settings.ray_address, num_cpus=num_workers)
        # The net travels once to each node.
        self._net = ray.put(None if job.net is None else job.net.read_bytes())
        self._remote = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(SelfplayActor)
        whole = PoolGames(num_games=settings.games, seed=job.seed)
        self._workers = [
            self._new_worker(index, whole, num_workers) for index in range(num_workers)
        ]
        self._run_all()

    def _new_worker(self, index: int, whole: PoolGames, num_workers: int) -> _RemoteWorker:
        def make(restarts: int) -> Any:
            seed = derive_seed(whole.seed, restarts)
            worker.prefix = f"{self._job.prefix}-w{index:03d}-{restarts:03d}"
            job = dataclasses.replace(self._job, prefix=worker.prefix)
            games = dataclasses.replace(worker.games, seed=seed)
            return self._remote.remote(job, games, self._net)

        actor = SupervisedActor(f"worker {index}", make)
        worker = _RemoteWorker(actor=actor, games=split_games(whole, index, num_workers))
        return worker

    def _run_all(self) -> None:
        """Let all workers run that neither do so nor are done; restart the dead."""
        for worker in self._workers:
            if not worker.done and worker.call is None and worker.actor.start():
                worker.call = worker.actor.call("run", self._call_s)

    @property
    def _living(self) -> list[_RemoteWorker]:
        return [worker for worker in self._workers if worker.actor.is_alive]

    @property
    def running(self) -> bool:
        """False once every worker has played its games."""
        return not all(worker.done for worker in self._workers)

    @property
    def restarts(self) -> int:
        """Workers that died and were replaced."""
        return sum(worker.actor.restarts for worker in self._workers)

    @property
    def shards(self) -> Sequence[Path]:
        """The session's shards that are on disk."""
        return sorted(self._job.folder.glob(f"{self._job.prefix}-w*.parquet"))

    def poll(self, timeout_s: float = 0.2) -> None:
        """Take reports for a while; replace dead actors."""
        if not self._paused:
            self._run_all()
        calls = {worker.call: worker for worker in self._workers if worker.call is not None}
        if not calls:
            time.sleep(timeout_s)
            return
        ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=timeout_s)
        for call in ready:
            worker = calls[call]
            self._take_report(worker, call)
            if worker.report is not None and not worker.report.running:
                self._retire(worker)
        if not self._paused:
            self._run_all()

    def _take_report(self, worker: _RemoteWorker, call: Any) -> None:
        worker.call = None
        try:
            worker.report = worker.actor.result(call)
        except ActorDied:
            self._count_dead_actor(worker)

    def _retire(self, worker: _RemoteWorker) -> None:
        assert worker.report is not None
        self._past.add(worker.report.counts)
        worker.actor.kill()
        worker.report, worker.done = None, True

    def _count_dead_actor(self, worker: _RemoteWorker) -> None:
        """Count what a dead actor left on disk; its successor plays the rest."""
        left = Counts()
        folder = self._job.folder
        compact_journals(folder, set_aside=folder.parent / "set-aside", prefix=worker.prefix)
        for path in sorted(self._job.folder.glob(f"{worker.prefix}-*.parquet")):
            left.add_games(read_shard(path))
        if worker.report is not None:
            known = worker.report.counts
            left.evaluations, left.simulations = known.evaluations, known.simulations
            left.cache_hits = known.cache_hits
        if left.games:
            worker.actor.note_progress()
        settings = self._job.settings
        in_flight = settings.pool.parallel_games * (settings.lanes or 1)
        num_games = worker.games.num_games
        if num_games is not None:
            num_games -= left.games
        left.dropped += in_flight if num_games is None else min(in_flight, num_games)
        self._past.add(left)
        worker.games = dataclasses.replace(worker.games, num_games=num_games)
        worker.report = None
        worker.done = num_games is not None and num_games <= 0

    def _report_all(self, method: str) -> None:
        """Call a method that reports on all living actors; it replaces their present call."""
        for worker in self._living:
            worker.call = worker.actor.call(method)
        for worker in self._living:
            self._take_report(worker, worker.call)

    def pause(self) -> None:
        """Pause all workers, with every finished game written."""
        self._paused = True
        self._report_all("pause")

    def resume(self) -> None:
        """Continue all games after `pause`."""
        if self._paused:
            for worker in self._living:
                worker.actor.call("resume")
        self._paused = False
        self._run_all()

    def use_net(self, net: Path) -> None:
        """Use another net from the next batch on, in games that have begun too."""
        self._net = ray.put(net.read_bytes())
        for worker in self._living:
            worker.actor.call("use_net", self._net)

    def pids(self) -> list[int]:
        """Processes of the living actors that have reported."""
        return [worker.report.pid for worker in self._workers if worker.report is not None]

    def counts(self) -> Counts:
        """Everything played so far, as far as it is known."""
        total = Counts()
        total.add(self._past)
        for worker in self._workers:
            if worker.report is not None:
                total.add(worker.report.counts)
        return total

    def close(self) -> None:
        """Stop all actors; every finished game is written first."""
        try:
            self._report_all("close")
            for worker in self._living:
                self._retire(worker)
        finally:
            self._connection.close()
