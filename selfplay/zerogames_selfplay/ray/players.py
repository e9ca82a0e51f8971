"""Self-play as Ray actors: started, watched, and replaced when they die.

Actors write their own shards, so a finished game never travels: what an actor had written before
it died counts, what it had only in memory is given up, and its successor plays on with new seeds.
"""

import contextlib
import dataclasses
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from zerogames.data.shard import read_shard
from zerogames.errors import UserError
from zerogames_selfplay.players.counts import Counts
from zerogames_selfplay.players.lane import Share
from zerogames_selfplay.players.seeds import derive_seed
from zerogames_selfplay.players.settings import SelfplaySettings
from zerogames_selfplay.players.worker import Worker

_CALL_S = 1.0
"""An actor reports so often; one call costs a millisecond."""
_RESTART_PAUSE_S = 1.0
_MAX_QUICK_DEATHS = 5
"""An actor that dies so often in a row without writing anything will not get better."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What an actor has done since it was made."""

    counts: Counts
    shards: list[str]
    running: bool
    pid: int


class SelfplayActor:
    """The remote side: a worker with one lane unless the settings say more."""

    def __init__(
        self,
        settings: SelfplaySettings,
        net: bytes | None,
        folder: str,
        prefix: str,
        share: Share,
    ) -> None:
        with _net_file(net) as path:
            self._worker = Worker(
                dataclasses.replace(settings, lanes=settings.lanes or 1),
                net=path,
                folder=Path(folder),
                prefix=prefix,
                share=share,
            )

    def run(self, seconds: float) -> Report:
        """Play on for a while; the lanes never pause between calls."""
        self._worker.poll(seconds)
        if not self._worker.running:
            self._worker.close()
        return self._report()

    def pause(self) -> Report:
        """Rest, with every finished game written."""
        self._worker.pause()
        return self._report()

    def resume(self) -> None:
        """Play on."""
        self._worker.resume()

    def use_net(self, net: bytes) -> None:
        """Play on with another net."""
        with _net_file(net) as path:
            assert path is not None
            self._worker.use_net(path)

    def close(self) -> Report:
        """Stop and write every finished game."""
        self._worker.close()
        return self._report()

    def _report(self) -> Report:
        return Report(
            counts=self._worker.counts(),
            shards=[str(path) for path in self._worker.shards],
            running=self._worker.running,
            pid=os.getpid(),
        )


@contextlib.contextmanager
def _net_file(net: bytes | None) -> Iterator[Path | None]:
    """A file of the net that is gone afterwards: a killed actor would leave it behind."""
    if net is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="zerogames-") as folder:
        path = Path(folder) / "net.safetensors"
        path.write_bytes(net)
        yield path


@dataclasses.dataclass(kw_only=True)
class _Slot:
    """One of the run's workers through all its lives."""

    index: int
    share: Share
    life: int = 0
    actor: Any = None
    call: Any = None
    report: Report | None = None
    quick_deaths: int = 0
    restart_at: float = 0.0
    done: bool = False


class RayWorkers:
    """The driver's side; the same methods as a `Worker`."""

    def __init__(
        self,
        settings: SelfplaySettings,
        *,
        net: Path | None,
        folder: Path,
        prefix: str,
        seed: int,
        call_s: float = _CALL_S,
    ) -> None:
        self._settings = settings
        self._folder = folder.resolve()
        self._prefix = prefix
        self._past = Counts()
        """Of actors that have died."""
        self.restarts = 0
        self._owns_ray = not ray.is_initialized()
        if self._owns_ray:
            start_ray(settings.ray_address, num_cpus=max(1, settings.workers))
        self._call_s = call_s
        self._net = ray.put(None if net is None else net.read_bytes())
        self._remote = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(SelfplayActor)
        workers = max(1, settings.workers)
        self._slots = [
            _Slot(
                index=index,
                share=Share(
                    first=index,
                    step=workers,
                    games=_part(settings.games, index, workers),
                    seed=seed,
                ),
            )
            for index in range(workers)
        ]
        for slot in self._slots:
            self._start(slot)

    def _start(self, slot: _Slot) -> None:
        share = dataclasses.replace(slot.share, seed=derive_seed(slot.share.seed, slot.life))
        # Ray's own types do not know which methods a remote class has.
        actor: Any = self._remote.remote(
            self._settings, self._net, str(self._folder), self._life_prefix(slot), share
        )
        slot.actor, slot.report = actor, None
        slot.call = actor.run.remote(self._call_s)

    def _life_prefix(self, slot: _Slot) -> str:
        return f"{self._prefix}-w{slot.index:03d}-{slot.life:03d}"

    @property
    def running(self) -> bool:
        """False once every worker has played its share."""
        return not all(slot.done for slot in self._slots)

    @property
    def shards(self) -> Sequence[Path]:
        """What this run has on disk."""
        return sorted(self._folder.glob(f"{self._prefix}-w*.parquet"))

    def poll(self, timeout_s: float = 0.2) -> None:
        """Take reports for a while; replace the dead."""
        now = time.monotonic()
        for slot in self._slots:
            if slot.actor is None and not slot.done and now >= slot.restart_at:
                self._start(slot)
        calls = {slot.call: slot for slot in self._slots if slot.call is not None}
        if not calls:
            time.sleep(timeout_s)
            return
        ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=timeout_s)
        for call in ready:
            self._take(calls[call], call)

    def _take(self, slot: _Slot, call: Any) -> None:
        slot.call = None
        try:
            slot.report = ray.get(call)
        except RayTaskError as error:
            raise task_cause(error) from None
        except RayActorError:
            self._bury(slot)
            return
        assert slot.report is not None
        if slot.report.running:
            slot.call = slot.actor.run.remote(self._call_s)
        else:
            self._retire(slot, slot.report)

    def _retire(self, slot: _Slot, report: Report) -> None:
        self._past.add(report.counts)
        ray.kill(slot.actor)
        slot.actor, slot.report, slot.done = None, None, True

    def _bury(self, slot: _Slot) -> None:
        """Count what a dead actor left on disk; let a successor play the rest."""
        left = Counts()
        for path in sorted(self._folder.glob(f"{self._life_prefix(slot)}-*.parquet")):
            left.add_games(read_shard(path))
        if slot.report is not None:
            known = slot.report.counts
            left.evaluations, left.simulations = known.evaluations, known.simulations
            left.cache_hits = known.cache_hits
        slot.quick_deaths = 0 if left.games else slot.quick_deaths + 1
        if slot.quick_deaths >= _MAX_QUICK_DEATHS:
            raise UserError(
                f"worker {slot.index} died {slot.quick_deaths} times before it wrote a game; "
                "see the logs of Ray, or play with --workers 0"
            )
        in_flight = self._settings.pool.parallel_games * (self._settings.lanes or 1)
        games = None if slot.share.games is None else slot.share.games - left.games
        left.dropped += in_flight if games is None else min(in_flight, games)
        self._past.add(left)
        slot.share = dataclasses.replace(slot.share, games=games)
        slot.life += 1
        self.restarts += 1
        slot.actor, slot.report = None, None
        slot.done = games is not None and games <= 0
        slot.restart_at = time.monotonic() + _RESTART_PAUSE_S

    def pause(self) -> None:
        """Let all workers rest, with every finished game written."""
        living = [slot for slot in self._slots if slot.actor is not None]
        for slot in living:
            slot.call = slot.actor.pause.remote()
        for slot in living:
            try:
                slot.report = ray.get(slot.call)
            except RayTaskError as error:
                raise task_cause(error) from None
            except RayActorError:
                self._bury(slot)
            slot.call = None

    def use_net(self, net: Path) -> None:
        """Play on with another net: it travels once, whoever needs it."""
        self._net = ray.put(net.read_bytes())
        for slot in self._slots:
            if slot.actor is not None:
                slot.actor.use_net.remote(self._net)

    def resume(self) -> None:
        """Play on after `pause`."""
        for slot in self._slots:
            if slot.actor is not None and slot.call is None:
                slot.actor.resume.remote()
                slot.call = slot.actor.run.remote(self._call_s)

    def pids(self) -> list[int]:
        """Processes of the living actors that have reported."""
        return [slot.report.pid for slot in self._slots if slot.report is not None]

    def counts(self) -> Counts:
        """Everything done so far, as far as it is known."""
        total = Counts()
        total.add(self._past)
        for slot in self._slots:
            if slot.report is not None:
                total.add(slot.report.counts)
        return total

    def close(self) -> None:
        """Stop all actors; every finished game is written first."""
        try:
            living = [slot for slot in self._slots if slot.actor is not None]
            for slot in living:
                slot.call = slot.actor.close.remote()
            for slot in living:
                try:
                    self._retire(slot, ray.get(slot.call))
                except RayTaskError as error:
                    raise task_cause(error) from None
                except RayActorError:
                    self._bury(slot)
        finally:
            if self._owns_ray:
                ray.shutdown()


def _part(games: int | None, index: int, workers: int) -> int | None:
    return None if games is None else (games - index + workers - 1) // workers


def task_cause(error: RayTaskError) -> BaseException:
    """What went wrong inside the actor, as if it had happened here."""
    cause = error.cause
    return cause if isinstance(cause, UserError | OSError) else error


def start_ray(address: str | None, *, num_cpus: int) -> None:
    """Join the cluster at `address`, or start a local one that may run `num_cpus` actors."""
    try:
        if address is not None:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        else:
            ray.init(
                num_cpus=num_cpus,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                # Ray would let actors yield to everything else on the machine.
                _system_config={"worker_niceness": 0},
            )
    except Exception as error:  # Ray raises plain ones, e.g. after its 30 s for a start
        reason = str(error).partition("\n")[0]
        where = f"Ray cluster '{address}'" if address else "starting Ray"
        raise UserError(f"{where}: {reason}") from None
