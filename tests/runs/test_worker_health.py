"""What is known of a run's workers, and which one plays unlike the others."""

import dataclasses
from pathlib import Path

import pytest

from zerogames import UserError
from zerogames.runs.worker_health import (
    WorkerHealth,
    deviation,
    health_line,
    read_health,
    write_health,
)


def worker(number: int, *, games: int = 1000, results: float = 200.0) -> WorkerHealth:
    return WorkerHealth(
        name=f"worker {number}",
        node=f"host{number % 2}",
        games=games,
        positions=40 * games,
        positions_per_s=10.0,
        restarts=0,
        net_age_s=5.0,
        results=results,
        squares=0.9 * games,
    )


def test_a_worker_with_other_results_is_found() -> None:
    workers = [worker(0), worker(1, results=210.0), worker(2), worker(3, results=-100.0)]
    # By hand: means -0.1 and 610/3000; variance 0.9 - 0.1275^2.
    expected = (-0.1 - 610 / 3000) / ((0.9 - 0.1275**2) * (1 / 1000 + 1 / 3000)) ** 0.5
    assert deviation(workers[3], workers) == pytest.approx(expected)
    assert "worker 3 on host1 has other results (8.8 standard errors)" in health_line(workers)
    assert health_line(workers[:3]) == "3 on 2 nodes, 30 positions/s"


def test_few_games_or_equal_results_say_nothing() -> None:
    assert deviation(worker(0), [worker(0)]) is None
    assert deviation(worker(0, games=10), [worker(0, games=10), worker(1)]) is None
    draws = [dataclasses.replace(worker(n), results=0.0, squares=0.0) for n in range(3)]
    assert deviation(draws[0], draws) is None
    assert health_line([dataclasses.replace(worker(0), node="")]) == "0 on 0 nodes, 0 positions/s"


def test_the_state_is_kept_in_the_runs_folder(tmp_path: Path) -> None:
    assert read_health(tmp_path) == []
    workers = [worker(0), worker(1)]
    write_health(tmp_path, workers)
    assert read_health(tmp_path) == workers
    (tmp_path / "workers.json").write_text("[1]")
    with pytest.raises(UserError, match="damaged"):
        read_health(tmp_path)
