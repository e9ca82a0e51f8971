"""Killed runs, full disks, damaged shards: a run continues and its sums add up."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_runs import check_sums, tiny, train
from zerogames_selfplay.loop.run_state import steps_in

from zerogames.atomic import temporary_path
from zerogames.cli import main
from zerogames.config import to_table
from zerogames.data.shard import read_shard, shard_paths
from zerogames.runs.metrics_log import read_lines
from zerogames.train import WindowSettings

LIVES = Path(__file__).parent / "killed_lives.py"


def kill_at_random(out: Path, *, kills: int, seed: int) -> None:
    """Run in a process of its own that is killed again and again, then to the end."""
    settings = tiny(out, generations=kills + 3)
    table = json.dumps(to_table(settings))
    command = [sys.executable, str(LIVES), table, str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    lives = json.loads(done.stdout.splitlines()[-1])
    assert lives["killed"] == kills
    check_sums(out, settings)
    assert read_lines(out / "metrics.jsonl")[-1]["generation"] == settings.generations
    assert not [path for path in out.rglob("*.tmp") if path.suffix == ".parquet"]
    games = [game for path in shard_paths(out / "shards") for game in read_shard(path)]
    # Every session has new seeds: no game is there twice.
    seeds = [game.seed for game in games]
    assert len(set(seeds)) == len(seeds)


def test_a_run_that_is_killed_three_times_continues(tmp_path: Path) -> None:
    kill_at_random(tmp_path / "run", kills=3, seed=1)


@pytest.mark.slow
def test_a_run_that_is_killed_twenty_times_continues(tmp_path: Path) -> None:
    kill_at_random(tmp_path / "run", kills=24, seed=2)


def test_damaged_shards_are_named_set_aside_and_counted(tmp_path: Path) -> None:
    settings = tiny(tmp_path, window=WindowSettings(min_positions=100_000))
    train(settings)
    in_window = shard_paths(tmp_path / "shards")[0]
    content = bytearray(in_window.read_bytes())
    content[len(content) // 2] ^= 0xFF
    in_window.write_bytes(bytes(content))
    new = tmp_path / "shards" / "9999-000000.parquet"
    new.write_bytes(content[: len(content) // 2])
    printed = train(tiny(tmp_path, generations=3, window=settings.window))
    assert f"set aside {in_window}" in printed
    assert f"set aside {new}" in printed
    assert "2 damaged shards" in printed
    kept = {path.name for path in (tmp_path / "set-aside").iterdir()}
    assert kept == {in_window.name, new.name}
    assert read_lines(tmp_path / "metrics.jsonl")[-1]["set_aside"] == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_stops_the_run_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tiny(tmp_path, generations=1)
    train(settings)
    full = temporary_path(tmp_path / "shards" / "0001-000000.parquet")
    full.symlink_to("/dev/full")
    capsys.readouterr()
    assert main(["train", "--out", str(tmp_path), "--generations", "3"]) == 2
    err = capsys.readouterr().err
    assert "is full" in err
    assert err.count("\n") == 1
    full.unlink(missing_ok=True)
    more = tiny(tmp_path, generations=3)
    assert "generation 3" in train(more)
    check_sums(tmp_path, more)


def test_a_stop_signal_ends_a_run_in_good_order(tmp_path: Path) -> None:
    settings = tiny(tmp_path, generations=10_000)
    killer = threading.Thread(target=_stop_when, args=(tmp_path / "metrics.jsonl",))
    killer.start()
    printed = train(settings)
    killer.join()
    assert "the same command continues from here" in printed
    check_sums(tmp_path, settings)


def _stop_when(path: Path) -> None:
    """Send Ctrl-C once a file is there."""
    while not path.exists():
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path) -> None:
    train(tiny(tmp_path))
    before, last = steps_in(tmp_path / "checkpoints")
    state = tmp_path / "checkpoints" / f"step-{last:08d}" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-7])
    more = tiny(tmp_path, generations=3)
    printed = train(more)
    assert "damaged" in printed
    assert f"continuing at step {before}" in printed
    check_sums(tmp_path, more)


ray = pytest.importorskip("ray")


def _descendants(title: str) -> list[int]:
    """Processes below this one whose title begins so."""
    parents: dict[int, int] = {}
    titles: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            titles[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found = []
    for pid, text in titles.items():
        above: int | None = pid
        while above is not None and above != os.getpid():
            above = parents.get(above)
        if above is not None and pid != above and text.startswith(title):
            found.append(pid)
    return found


def _kill_actors(folder: Path, rounds: int, killed: list[str]) -> None:
    """After each of the first generations kill a learner or a worker, at a random moment."""
    rng = random.Random(1)
    for number in range(1, rounds + 1):
        while len(read_lines(folder / "metrics.jsonl")) < number:
            time.sleep(0.05)
        time.sleep(rng.random())
        title = "ray::LearnerActor" if number % 2 else "ray::SelfplayActor"
        pids = _descendants(title)
        if pids:
            os.kill(rng.choice(pids), signal.SIGKILL)
            killed.append(title)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize(
    "kills", [2, pytest.param(20, marks=pytest.mark.slow)], ids=["twice", "twenty times"]
)
def test_learners_and_workers_that_are_killed_are_replaced(tmp_path: Path, kills: int) -> None:
    ray.shutdown()
    settings = tiny(tmp_path, workers=2, generations=kills + 2)
    killed: list[str] = []
    killer = threading.Thread(target=_kill_actors, args=(tmp_path, kills, killed), daemon=True)
    killer.start()
    printed = train(settings)
    killer.join()
    assert set(killed) == {"ray::LearnerActor", "ray::SelfplayActor"}
    assert f"generation {settings.generations}" in printed
    check_sums(tmp_path, settings)


def test_a_run_that_died_before_its_last_net_played_has_that_net_afterwards(tmp_path: Path) -> None:
    train(tiny(tmp_path))
    newest = (tmp_path / "net.safetensors").read_bytes()
    older = tmp_path / "nets" / f"step-{steps_in(tmp_path / 'nets')[0]:08d}.safetensors"
    (tmp_path / "net.safetensors").write_bytes(older.read_bytes())
    train(tiny(tmp_path))
    assert (tmp_path / "net.safetensors").read_bytes() == newest
