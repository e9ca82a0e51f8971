"""Three hosts that share nothing but the network learn a game, while hosts vanish."""

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts import Host, Switch
from zerogames_selfplay.loop.run_state import steps_in

from zerogames.data.shard import read_shard, shard_paths
from zerogames.runs.metrics_log import read_lines
from zerogames.runs.worker_health import read_health

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(
        not all(shutil.which(tool) for tool in ("ip", "ss", "unshare", "nsenter")),
        reason="needs iproute2 and util-linux",
    ),
]

GENERATIONS = 11
TRAIN = f"""
ray start --head --node-ip-address 10.98.0.1 --port 6379 --num-cpus 2 --include-dashboard false \
    --disable-usage-stats --object-store-memory 100000000 >ray.txt 2>&1
while [ ! -e go ]; do sleep 0.2; done
exec zerogames train --game connect4 --ray-address 10.98.0.1:6379 --workers auto --out run \
    --net res_3x3_2x16 --generations {GENERATIONS} --generation-positions 1500 \
    --first-positions 1500 --search.simulations 16 --pool.parallel-games 16 \
    --trainer.batch-size 64 --trainer.threads 1 --rating.pairs 8 --rating.visits 8 \
    --rating.anchors random --rating.no-perfect --rating.earlier-nets 0
"""
JOIN = """
exec ray start --address 10.98.0.1:6379 --node-ip-address {address} --num-cpus 1 --block \
    --disable-usage-stats --object-store-memory 100000000
"""
DETECTION = {
    # Ray finds a host that was cut off within seconds instead of a minute.
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "4",
    "RAY_worker_niceness": "0",
}


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[Host]]:
    switch = Switch()
    made: list[Host] = []
    try:
        made += [Host(switch, number, tmp_path / f"host{number}") for number in (1, 2, 3)]
        yield made
    finally:
        for host in made:
            host.close()
        switch.close()


def test_a_run_learns_while_hosts_are_cut_off_and_killed(hosts: list[Host]) -> None:
    owner, second, third = hosts
    variables = {
        **DETECTION,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    run = owner.disk / "run"

    def wait_for(what: Callable[[], bool], timeout_s: float = 400.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not what():
            assert training.poll() is None, owner.log
            assert time.monotonic() < deadline, owner.log[-3000:]
            time.sleep(0.5)

    def generations() -> int:
        return len(read_lines(run / "metrics.jsonl")) if run.exists() else 0

    def join(host: Host) -> None:
        host.start(["sh", "-c", JOIN.format(address=host.address)], **variables)

    (owner.disk / "ray.txt").touch()
    training = owner.start(["sh", "-c", TRAIN], **variables)
    wait_for(lambda: "To connect to this" in (owner.disk / "ray.txt").read_text())
    join(second)
    join(third)
    wait_for(lambda: all("runtime started" in host.log for host in (second, third)))
    (owner.disk / "go").touch()
    wait_for(lambda: generations() >= 2)
    second.plug(connected=False)
    seen = generations()
    wait_for(lambda: generations() >= seen + 3)
    second.plug(connected=True)
    seen = generations()
    wait_for(lambda: generations() >= seen + 1)
    second.kill()  # If Ray has not ended it: it was told that it is dead.
    join(second)
    third.kill()
    seen = generations()
    wait_for(lambda: generations() >= seen + 2)
    join(third)
    assert training.wait(600) == 0, owner.log
    check_run(owner, [second, third])


def check_run(owner: Host, others: list[Host]) -> None:
    """Nothing was lost, all was learnt from, and only the owner has games."""
    run = owner.disk / "run"
    paths = shard_paths(run / "shards")
    seeds = [game.seed for path in paths for game in read_shard(path)]
    assert len(seeds) == len(set(seeds))
    newest = run / "checkpoints" / f"step-{steps_in(run / 'checkpoints')[-1]:08d}"
    state = json.loads((newest / "trainer.json").read_text())["state"]
    assert sorted(state["extra"]["ledger"]["shards"]) == [path.name for path in paths]
    assert state["extra"]["window"]["total_games"] == len(seeds)
    assert sum(worker.games for worker in read_health(run)) == len(seeds)
    lines = read_lines(run / "metrics.jsonl")
    assert lines[-1]["policy_loss"] < lines[0]["policy_loss"]
    assert read_lines(run / "ratings.jsonl")[-1]["elo"] > 200
    assert "WARNING" not in owner.log
    assert not [line for line in owner.log.splitlines() if ".cc:" in line]
    for host in others:  # Games exist with the owner alone.
        assert not list(host.disk.rglob("*.parquet"))
        assert not list(host.disk.rglob("*.journal"))
