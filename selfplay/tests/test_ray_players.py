"""Actors that die, nodes that vanish: nothing written is lost, and the run continues."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from zerogames_selfplay.players.players import PlayersJob
from zerogames_selfplay.players.settings import SelfplaySettings

from zerogames.data.shard import read_shard
from zerogames.runs.worker_health import read_health
from zerogames.search.settings import PoolSettings, search_preset

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.xdist_group("ray"),
]


def settings(out: Path, **changes: object) -> SelfplaySettings:
    values: dict[str, object] = {
        "game": "connect4",
        "evaluator": "random",
        "out": out,
        "games": 1200,
        "workers": 2,
        "shard_positions": 200,
        "search": search_preset("gumbel", simulations=64),
        "pool": PoolSettings(parallel_games=4),
    }
    return SelfplaySettings(**{**values, **changes})  # type: ignore[arg-type]


def job(wanted: SelfplaySettings, folder: Path) -> PlayersJob:
    return PlayersJob(settings=wanted, net=None, folder=folder, prefix="0000", seed=1)


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    ray.init(
        "local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    yield
    ray.shutdown()


@pytest.mark.usefixtures("local_ray")
def test_one_actor_plays_the_same_games_as_this_process(tmp_path: Path) -> None:
    from zerogames_selfplay.players.worker import Worker
    from zerogames_selfplay.ray.players import RayPlayers

    wanted = settings(tmp_path, games=20, workers=1, lanes=1)
    here = Worker(job(wanted, tmp_path / "here"))
    while here.running:
        here.poll()
    here.close()
    there = RayPlayers(job(wanted, tmp_path / "there"))
    while there.running:
        there.poll()
    there.close()

    def games(paths: object) -> list[list[int]]:
        assert isinstance(paths, list)
        return sorted(g.actions.tolist() for path in paths for g in read_shard(path))

    assert games(list(here.shards)) == games(list(there.shards))
    assert here.counts().games == there.counts().games == 20


@pytest.mark.usefixtures("local_ray")
def test_a_killed_actor_is_replaced_and_the_counts_add_up(tmp_path: Path) -> None:
    from zerogames_selfplay.ray.players import RayPlayers

    players = RayPlayers(job(settings(tmp_path), tmp_path))
    killed = False
    deadline = time.monotonic() + 120
    while players.running:
        assert time.monotonic() < deadline
        players.poll()
        if not killed and players.shards and players.pids():
            os.kill(players.pids()[0], signal.SIGKILL)
            killed = True
    players.close()
    assert killed
    assert players.restarts == 1
    on_disk = [game for path in players.shards for game in read_shard(path)]
    assert len(on_disk) == 1200
    counts = players.counts()
    assert counts.games == 1200
    assert counts.positions == sum(len(game.actions) for game in on_disk)
    assert counts.dropped > 0
    health = players.health()
    assert sum(worker.games for worker in health) == 1200
    assert sum(worker.positions for worker in health) == counts.positions
    assert sum(worker.restarts for worker in health) == 1
    assert sum(worker.games for worker in read_health(tmp_path.parent)) == 1200
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.usefixtures("local_ray")
def test_paused_workers_that_die_are_not_replaced_before_they_are_wanted(tmp_path: Path) -> None:
    from zerogames_selfplay.ray.players import RayPlayers

    players = RayPlayers(job(settings(tmp_path, games=None, forever=True), tmp_path))
    try:
        while len(players.pids()) < 2 or not players.counts().games:
            players.poll()
        players.pause()
        counts = players.counts()
        on_disk = [game for path in players.shards for game in read_shard(path)]
        assert counts.games == len(on_disk)
        os.kill(players.pids()[0], signal.SIGKILL)
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            players.poll()
        assert players.counts().games == counts.games
        assert players.counts().evaluations == counts.evaluations
        players.resume()
        while players.restarts < 1 or players.counts().games == counts.games:
            players.poll()
    finally:
        players.close()


def test_a_killed_node_takes_nothing_with_it(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster
    from zerogames_selfplay.ray.players import RayPlayers

    ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    try:
        doomed = cluster.add_node(num_cpus=2)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        wanted = settings(tmp_path, workers=4, games=1600)
        players = RayPlayers(job(wanted, tmp_path))
        killed = False
        deadline = time.monotonic() + 240
        while players.running:
            assert time.monotonic() < deadline
            players.poll()
            if not killed and len(players.pids()) == 4 and players.shards:
                cluster.remove_node(doomed, allow_graceful=False)
                killed = True
        players.close()
        assert killed
        assert players.restarts >= 1
        on_disk = [game for path in players.shards for game in read_shard(path)]
        assert players.counts().games == len(on_disk) == 1600
        # One writer: the owner.
        assert {path.name[:5] for path in tmp_path.iterdir()} == {"0000-"}
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.slow
def test_workers_follow_nodes_that_join_and_leave(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster
    from zerogames_selfplay.ray.players import RayPlayers

    ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        wanted = settings(tmp_path, workers="auto", games=None, forever=True)
        players = RayPlayers(job(wanted, tmp_path))

        def poll_until_workers(number: int) -> None:
            deadline = time.monotonic() + 120
            while len(players.pids()) != number:
                assert time.monotonic() < deadline, players.pids()
                players.poll()

        poll_until_workers(1)
        joined = cluster.add_node(num_cpus=2)
        poll_until_workers(3)
        cluster.remove_node(joined, allow_graceful=False)
        poll_until_workers(1)
        games = players.counts().games
        while players.counts().games < games + 10:
            players.poll()
        players.close()
        on_disk = [game.seed for path in players.shards for game in read_shard(path)]
        assert players.counts().games == len(on_disk) == len(set(on_disk))
    finally:
        ray.shutdown()
        cluster.shutdown()
