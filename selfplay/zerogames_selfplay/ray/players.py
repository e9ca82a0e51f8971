"""Self-play as Ray actors; their games come to the process that has the run's folder: the owner.

Workers send finished games in chunks and get an acknowledgement when a chunk is on the owner's
disk; only then its games count. What a worker that died had not sent is dropped, and its successor
plays the rest of its games with new seeds.
"""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray

from zerogames.runs.worker_health import WorkerHealth, write_health
from zerogames.search import PoolGames
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.game_store import GameStore
from zerogames_selfplay.players.lane import split_games
from zerogames_selfplay.players.outbox import Inbox
from zerogames_selfplay.players.players import PlayersJob
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.ray.connection import RayConnection, own_node
from zerogames_selfplay.ray.preflight import Needs
from zerogames_selfplay.ray.selfplay_actor import SelfplayActor, WorkerFiles, WorkerReport
from zerogames_selfplay.ray.supervised_actor import ActorDied, CallLost, SupervisedActor

_MOST_WORKERS = 1 << 16
"""Workers of a run whose nodes come and go, dead ones too."""
_FOLLOW_S = 2.0
"""Seconds between two looks at the nodes."""
_HEALTH_S = 5.0
"""Seconds between two notes of the workers' state in the run's folder."""
_ANSWER_S = 60.0
"""How long `pause` and `close` wait for a worker that does not answer; Ray finds a vanished node
before that."""


@dataclass(kw_only=True)
class _RemoteWorker:
    """A worker of the run, with all actors that have played its games."""

    actor: SupervisedActor
    games: PoolGames
    """The games that the present actor began with."""
    inbox: Inbox = field(default_factory=Inbox)
    """What came from the present actor."""
    played: Counts = field(default_factory=Counts)
    """What came from it."""
    past: Counts = field(default_factory=Counts)
    """What came from its predecessors."""
    call: Any = None
    """The call that the actor works on and that ends with a report."""
    report: WorkerReport | None = None
    done: bool = False


class RayPlayers:
    """Workers as Ray actors: the `Players` of the owner's process."""

    def __init__(self, job: PlayersJob, *, reserved_cpus: int = 0) -> None:
        """Start the workers.

        Args:
            job: What they play.
            reserved_cpus: CPUs of the cluster that others of this run have.
        """
        settings = job.settings
        self._reserved_cpus = reserved_cpus
        self._job = dataclasses.replace(job, net=None)
        self._store = GameStore(job.folder, job.prefix, positions=settings.shard_positions)
        self._past = Counts()
        """Counts of actors that have ended, without games."""
        self._paused = False
        needs = Needs(game=settings.game, workers=settings.num_actors)
        self._connection = RayConnection(settings.ray_address, needs)
        self._openings = settings.openings.read_bytes() if settings.openings else None
        self._files: Any = None
        self._send_net(job.net)
        remote: Any = ray.remote  # Its type does not know concurrency groups.
        self._remote = remote(
            num_cpus=1, max_restarts=0, max_task_retries=0, concurrency_groups={"control": 1}
        )(SelfplayActor)
        self._workers: list[_RemoteWorker] = []
        self._follow_at = self._health_at = 0.0
        for _ in range(settings.num_actors or 0):
            self._add_worker()
        self._run_all()

    def _add_worker(self) -> None:
        job, index, parts = self._job, len(self._workers), self._job.settings.num_actors
        # Where their number changes, nobody knows how many games each will play: the run ends
        # when there are enough.
        num_games = job.settings.games if parts is not None else None
        games = PoolGames(num_games=num_games, seed=job.seed)

        def make(restarts: int) -> Any:
            worker.past.add(worker.played)
            worker.inbox, worker.played = Inbox(), Counts()
            games = dataclasses.replace(worker.games, seed=derive_seed(job.seed, restarts))
            return self._remote.remote(job, games, self._files, own_node())

        worker = _RemoteWorker(
            actor=SupervisedActor(f"worker {index}", make),
            games=split_games(games, index, parts or _MOST_WORKERS),
        )
        self._workers.append(worker)

    def _follow_nodes(self) -> None:
        """Let the number of workers follow the nodes that join and leave."""
        now = time.monotonic()
        if self._job.settings.num_actors is not None or now < self._follow_at:
            return
        self._follow_at = now + _FOLLOW_S
        free: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
        total: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        active = [worker for worker in self._workers if not worker.done]
        waiting = [worker for worker in active if worker.report is None]
        most = max(1, int(total.get("CPU", 0)) - self._reserved_cpus)
        for worker in waiting[: max(0, len(active) - most)]:
            self._retire(worker)  # Its node has left.
        more = min(int(free.get("CPU", 0)) - len(waiting), most - len(active))
        for _ in range(more):
            self._add_worker()

    def _send_net(self, net: Path | None) -> None:
        """Put the net where every node can get it; it travels once to each."""
        content = None if net is None else net.read_bytes()
        self._files = ray.put(WorkerFiles(net=content, openings=self._openings))

    def _run_all(self) -> None:
        """Let all workers run that neither do so nor are done; restart the dead."""
        self._follow_nodes()
        for worker in self._workers:
            if not worker.done and worker.call is None and worker.actor.start():
                worker.call = worker.actor.call("run", worker.inbox.received)

    @property
    def _living(self) -> list[_RemoteWorker]:
        return [worker for worker in self._workers if worker.actor.is_alive]

    @property
    def running(self) -> bool:
        """False once every worker has played its games."""
        if self._job.settings.num_actors is None:
            return True
        return not all(worker.done for worker in self._workers)

    @property
    def restarts(self) -> int:
        """Workers that died and were replaced."""
        return sum(worker.actor.restarts for worker in self._workers)

    @property
    def shards(self) -> Sequence[Path]:
        """The session's shards that are on disk."""
        return self._store.shards

    def poll(self, timeout_s: float = 0.2) -> None:
        """Take games and reports for a while; replace dead actors."""
        if not self._paused:
            self._run_all()
        if not self._take_reports(self._workers, timeout_s):
            time.sleep(timeout_s)
        for worker in self._workers:
            if worker.report is not None and not worker.report.running:
                self._retire(worker)
        if not self._paused:
            self._run_all()
        self._write_health()

    def _take_reports(self, workers: Sequence[_RemoteWorker], timeout_s: float) -> bool:
        """Wait for reports and make their games durable; whether any worker was working."""
        calls = {worker.call: worker for worker in workers if worker.call is not None}
        if not calls:
            return False
        ready, _ = ray.wait(list(calls), num_returns=1, timeout=timeout_s)
        if ready:  # Take all that are there: one sync for all of them.
            ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0)
        for call in ready:
            self._take_report(calls[call])
        self._store.sync()
        return True

    def _take_report(self, worker: _RemoteWorker) -> None:
        call, worker.call = worker.call, None
        try:
            report: WorkerReport = worker.actor.result(call)
        except ActorDied:
            self._count_dead_actor(worker)
            return
        except CallLost:
            return  # Its games come with the next report.
        worker.report = report
        chunk = worker.inbox.take(report.parcel) if report.parcel is not None else None
        if chunk is not None:
            self._store.put(chunk)
            worker.played.add(chunk.counts)
            worker.actor.note_progress()

    def _retire(self, worker: _RemoteWorker) -> None:
        if worker.report is not None:
            self._past.add(worker.report.counts)
        worker.actor.kill()
        worker.report, worker.done = None, True

    def _count_dead_actor(self, worker: _RemoteWorker) -> None:
        """Count what a dead actor has cost; its successor plays the rest."""
        left = worker.report.counts if worker.report is not None else Counts()
        settings = self._job.settings
        in_flight = settings.pool.parallel_games * (settings.lanes or 1)
        num_games = worker.games.num_games
        if num_games is not None:
            num_games -= worker.played.games
        left.dropped += in_flight if num_games is None else min(in_flight, num_games)
        self._past.add(left)
        worker.games = dataclasses.replace(worker.games, num_games=num_games)
        worker.report = None
        worker.done = num_games is not None and num_games <= 0

    def _take_all(self, method: str) -> None:
        """Call a method on all living actors until none of them has a game left."""
        asked = self._living
        for worker in asked:
            worker.actor.call("hurry")
            worker.call = worker.actor.call(method, worker.inbox.received)
        deadline = time.monotonic() + _ANSWER_S
        while asked and time.monotonic() < deadline:
            self._take_reports(asked, 1.0)
            for worker in asked:
                has_more = worker.report is not None and worker.report.parcel is not None
                if worker.call is None and worker.actor.is_alive and has_more:
                    worker.call = worker.actor.call(method, worker.inbox.received)
            asked = [worker for worker in asked if worker.call is not None]
        self._store.flush()

    def pause(self) -> None:
        """Pause all workers, with every finished game written."""
        self._paused = True
        self._take_all("pause")

    def resume(self) -> None:
        """Continue all games after `pause`."""
        if self._paused:
            for worker in self._living:
                worker.actor.call("resume")
        self._paused = False
        self._run_all()

    def use_net(self, net: Path) -> None:
        """Use another net from the next batch on, in games that have begun too."""
        self._send_net(net)
        for worker in self._living:
            worker.actor.call("use_net", self._files)

    def health(self) -> list[WorkerHealth]:
        """The state of each worker."""
        return [_health(index, worker) for index, worker in enumerate(self._workers)]

    def _write_health(self) -> None:
        now = time.monotonic()
        if now >= self._health_at:
            self._health_at = now + _HEALTH_S
            write_health(self._job.folder.parent, self.health())

    def pids(self) -> list[int]:
        """Processes of the living actors that have reported."""
        return [worker.report.pid for worker in self._workers if worker.report is not None]

    def counts(self) -> Counts:
        """Everything played so far, as far as it is known; games count when they are on disk."""
        total = Counts()
        total.add(self._store.counts)
        total.add(self._past)
        for worker in self._workers:
            if worker.report is not None:
                total.add(worker.report.counts)
        return total

    def close(self) -> None:
        """Stop all actors; every finished game is written first."""
        try:
            self._take_all("close")
            self._health_at = 0.0
            self._write_health()
            for worker in self._living:
                self._retire(worker)
        finally:
            self._connection.close()


def _health(index: int, worker: _RemoteWorker) -> WorkerHealth:
    total = Counts()
    total.add(worker.past)
    total.add(worker.played)
    report = worker.report
    return WorkerHealth(
        name=f"worker {index}",
        node="" if report is None else report.node,
        games=total.games,
        positions=total.positions,
        positions_per_s=worker.played.positions / max(1e-3, report.seconds) if report else 0.0,
        restarts=worker.actor.restarts,
        net_age_s=report.net_age_s if report else 0.0,
        results=float(total.first_wins - total.second_wins),
        squares=float(total.first_wins + total.second_wins),
    )
