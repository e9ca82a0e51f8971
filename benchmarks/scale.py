"""How much one owner of a run can take in, and what each worker and each new net costs it.

    python benchmarks/scale.py --game connect4 --actors 0 1 2 4 8
    python benchmarks/scale.py --game chess --actors 0

Chunks of real games (made with random evaluations) are sent as fast as the owner takes them, by so
many Ray actors; 0 actors: by this process, without Ray. The owner does what it does in a run: it
checks a chunk, appends it to the journal, syncs, acknowledges, and writes shards. Each line tells
positions per second and the CPU time of the owner's process per position; an idle actor that
reports once costs what `report` says. A broadcast is one net of 5 MB from here to all actors.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import report
from zerogames_selfplay import SelfplaySettings, run_selfplay
from zerogames_selfplay.players.game_chunk import GameChunk
from zerogames_selfplay.players.game_store import GameStore
from zerogames_selfplay.players.outbox import Inbox, Parcel

from zerogames.data import GameRecord
from zerogames.data.shard import read_shard
from zerogames.search.settings import PoolSettings, search_preset

_CHUNK_BYTES = 1 << 20
_NET_BYTES = 5 << 20
_SHARD_POSITIONS = 8192


def make_chunks(game: str, folder: Path) -> list[GameChunk]:
    """Chunks of different games, as many as a shard needs if they were played fast enough."""
    settings = SelfplaySettings(
        game=game,
        evaluator="random",
        out=folder,
        minutes=0.25,
        search=search_preset("gumbel", simulations=32, cache_mebibytes=4),
        pool=PoolSettings(parallel_games=32),
    )
    run = run_selfplay(settings)
    records = [record for path in run.shards for record in read_shard(path)]
    chunks: list[GameChunk] = []
    chosen: list[GameRecord] = []
    for record in records:
        chosen.append(record)
        if sum(one.num_bytes for one in chosen) >= _CHUNK_BYTES:
            chunks.append(GameChunk.of(chosen))
            chosen = []
    return chunks or [GameChunk.of(chosen)]


class Owner:
    """What the owner does with chunks, as `RayPlayers` does it."""

    def __init__(self, folder: Path) -> None:
        self.store = GameStore(folder, "0000", positions=_SHARD_POSITIONS)

    def take(self, parcels: list[tuple[Inbox, Parcel]]) -> None:
        """Make chunks durable."""
        for inbox, parcel in parcels:
            chunk = inbox.take(parcel)
            assert chunk is not None
            self.store.put(chunk)
        self.store.sync()


def measure(name: str, owner: Owner, step: Callable[[], object], seconds: float) -> None:
    """Call `step` for a while; print the rate, and the CPU time of this process."""
    step()
    before = owner.store.counts.positions
    start, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        step()
    positions = owner.store.counts.positions - before
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    report(f"{name}: taken in", [positions / seconds], unit="positions/s")
    report(f"{name}: one core of the owner", [positions / cpu], unit="positions/s of CPU")


def alone(game: str, chunks: list[GameChunk], folder: Path, seconds: float) -> None:
    """Without Ray."""
    owner, inbox = Owner(folder), Inbox()

    def step() -> None:
        chunk = chunks[inbox.received % len(chunks)]
        owner.take([(inbox, Parcel(number=inbox.received + 1, chunk=chunk))])

    measure(f"{game}, no Ray", owner, step, seconds)


class Source:
    """An actor whose chunks never end."""

    def __init__(self, chunks: list[GameChunk]) -> None:
        self._chunks = chunks

    def run(self, acknowledged: int) -> Parcel:
        """The next parcel."""
        return Parcel(number=acknowledged + 1, chunk=self._chunks[acknowledged % len(self._chunks)])

    def use(self, net: bytes) -> int:
        """Take a net."""
        return len(net)


def with_actors(
    game: str, chunks: list[GameChunk], folder: Path, options: argparse.Namespace
) -> None:
    """From actors of a local Ray."""
    import ray
    from zerogames_selfplay.ray.connection import RayConnection
    from zerogames_selfplay.ray.preflight import Needs

    most = max(options.actors)
    with RayConnection(None, Needs(game=game, workers=most)):
        remote: Any = ray.remote(num_cpus=1)(Source)
        shared = ray.put(chunks)
        actors = [remote.remote(shared) for _ in range(most)]
        ray.get([actor.use.remote(b"") for actor in actors])
        for number in filter(None, options.actors):
            owner = Owner(folder / f"{number}")
            calls: dict[Any, tuple[Any, Inbox]] = {
                actor.run.remote(0): (actor, Inbox()) for actor in actors[:number]
            }

            def step(owner: Owner = owner, calls: dict[Any, tuple[Any, Inbox]] = calls) -> None:
                ray.wait(list(calls), num_returns=1)
                ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0)
                found = [(calls.pop(call), ray.get(call)) for call in ready]
                owner.take([(inbox, parcel) for (_, inbox), parcel in found])
                for (actor, inbox), _ in found:
                    calls[actor.run.remote(inbox.received)] = (actor, inbox)

            measure(f"{game}, {number} actors", owner, step, options.seconds)
            ray.get(list(calls))
            report(
                f"broadcast of 5 MB to {number} actors",
                sorted(_broadcasts(actors[:number], options.runs)),
                unit="s",
            )
            report(
                f"{number} actors: an idle report",
                sorted(_idle_calls(actors[:number], options.runs)),
                unit="us of the owner's CPU",
            )


def _broadcasts(actors: list[Any], runs: int) -> Iterator[float]:
    import ray

    rng = np.random.default_rng(1)
    for _ in range(runs):
        net = rng.bytes(_NET_BYTES)
        start = time.perf_counter()
        shared = ray.put(net)
        assert set(ray.get([actor.use.remote(shared) for actor in actors])) == {_NET_BYTES}
        yield time.perf_counter() - start


def _idle_calls(actors: list[Any], runs: int) -> Iterator[float]:
    import ray

    calls = 200
    for _ in range(runs):
        start = time.process_time()
        for _ in range(calls):
            ray.get([actor.use.remote(b"") for actor in actors])
        yield 1e6 * (time.process_time() - start) / (calls * len(actors))


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="connect4")
    parser.add_argument("--actors", type=int, nargs="+", default=[0, 1, 2, 4, 8])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zerogames-") as name:
        folder = Path(name)
        chunks = make_chunks(options.game, folder / "run")
        size = len(chunks[0].games.data) / chunks[0].games.positions
        report(f"{options.game}: size of a position", [size], unit="bytes in a chunk")
        if 0 in options.actors:
            alone(options.game, chunks, folder / "alone", options.seconds)
        if any(options.actors):
            with_actors(options.game, chunks, folder, options)


if __name__ == "__main__":
    main()
