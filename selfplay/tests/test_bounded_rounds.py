"""However much has piled up, the next checkpoint is near; a run that is killed goes on from it."""

import itertools
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_runs import check_sums, tiny, train
from zerogames_selfplay.loop.learner import RoundProgress, TrainRound
from zerogames_selfplay.loop.local_learner import LocalLearner
from zerogames_selfplay.loop.run_state import steps_in
from zerogames_selfplay.loop.settings import TrainSettings

import zerogames
from zerogames.config import to_table
from zerogames.data.shard import shard_paths
from zerogames.runs.folder import RunPaths
from zerogames.runs.metrics_log import read_lines

ROUNDS = Path(__file__).parent / "killed_rounds.py"
ORDER = TrainRound(elapsed_s=0.0, progress=0.0)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose shards hold several rounds."""
    out = tmp_path_factory.mktemp("played") / "run"
    train(tiny(out, generations=6))
    return out


def unlearnt(played: Path, out: Path) -> Path:
    """The same run, of which nothing was learnt."""
    shutil.copytree(played, out)
    for name in ("checkpoints", "nets"):
        shutil.rmtree(out / name)
        (out / name).mkdir()
    (out / "metrics.jsonl").unlink()
    (out / "net.safetensors").unlink()
    return out


def new_learner(settings: TrainSettings) -> LocalLearner:
    return LocalLearner(settings, zerogames.get_game("connect4"), RunPaths(settings.folder))


def test_a_round_takes_a_portion_of_what_has_piled_up(played: Path, tmp_path: Path) -> None:
    settings = tiny(unlearnt(played, tmp_path / "run"))
    shards = len(shard_paths(settings.folder / "shards"))
    assert shards >= 6
    learner = new_learner(settings)
    unread, read = [learner.unread_shards], [0]
    while learner.unread_shards:
        report = learner.train_round(ORDER, lambda progress: True)
        unread.append(report.unread_shards)
        read.append(report.positions)
        assert report.net is not None
        assert report.step == steps_in(RunPaths(settings.folder).checkpoints)[-1]
    learner.close()
    assert unread[0] == shards
    assert len(unread) > 4
    largest = max(after - before for before, after in itertools.pairwise(read))
    assert largest < 3 * settings.generation_positions  # One shard may overshoot.


def test_a_run_learns_all_that_has_piled_up_before_it_plays(played: Path, tmp_path: Path) -> None:
    settings = tiny(unlearnt(played, tmp_path / "run"), generations=4)
    before = len(shard_paths(settings.folder / "shards"))
    train(settings)
    lines = read_lines(settings.folder / "metrics.jsonl")
    assert [line["generation"] for line in lines] == [1, 2, 3, 4]
    assert all(line["selfplay_s"] == 0 for line in lines)
    # Only what was played before the first pause came on top.
    assert len(shard_paths(settings.folder / "shards")) <= before + 2


def test_a_round_makes_checkpoints_on_its_way(played: Path, tmp_path: Path) -> None:
    settings = tiny(unlearnt(played, tmp_path / "run"), reuse=40.0, checkpoint_s=0.05)
    folder = RunPaths(settings.folder).checkpoints
    seen: set[int] = set()

    def look(progress: RoundProgress) -> bool:
        seen.update(steps_in(folder))
        time.sleep(0.002)
        return True

    learner = new_learner(settings)
    report = learner.train_round(ORDER, look)
    learner.close()
    assert len(seen) > 2
    assert max(seen) < report.step
    again = new_learner(settings)
    assert (again.step, again.due_steps) == (report.step, 0)
    again.close()


def test_a_run_that_is_killed_in_every_round_makes_progress(played: Path, tmp_path: Path) -> None:
    out = unlearnt(played, tmp_path / "run")
    settings = tiny(out, reuse=500.0, checkpoint_s=0.2, generations=2)
    command = [sys.executable, str(ROUNDS), json.dumps(to_table(settings)), "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)
    assert len(steps) == 5
    assert not (out / "metrics.jsonl").exists()  # No round came to its end.
    last = steps_in(out / "checkpoints")[-1]
    assert last >= steps[-1] > 0
    # Without the steps that are left, or it would take a minute.
    train(tiny(out, reuse=500.0, steps=last + 5, generations=None))
    check_sums(out, tiny(out, reuse=500.0))


def test_a_run_that_never_plays_a_whole_round_learns(tmp_path: Path) -> None:
    """Each session is killed before its first round: what it played is learnt by the next."""
    settings = tiny(tmp_path, generation_positions=100_000, generations=1)
    shards = tmp_path / "shards"
    for session in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", PLAY, json.dumps(to_table(settings))], stderr=subprocess.PIPE
        )
        while process.poll() is None and not list(shards.glob(f"{session:04d}-*.journal")):
            time.sleep(0.02)
        process.kill()
        assert process.communicate()[1] == b""
        if steps_in(tmp_path / "checkpoints"):
            break
    assert steps_in(tmp_path / "checkpoints")
    assert session > 0


PLAY = """
import json, sys
from zerogames.config import make_settings
from zerogames_selfplay import TrainSettings, run_training
run_training(make_settings(TrainSettings, json.loads(sys.argv[1])))
"""
