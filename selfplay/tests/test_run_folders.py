"""Refused commands leave a run's folder as it was, and one command at a time writes into it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_runs import tiny
from zerogames_selfplay import SelfplaySettings, run_selfplay, run_training
from zerogames_selfplay.loop.settings import RatingSettings

from zerogames import UserError
from zerogames.cli import main
from zerogames.data.shard import shard_paths
from zerogames.search.settings import PoolSettings, search_preset
from zerogames.train import TrainerSettings

SELFPLAY = "selfplay --game connect4 --evaluator random --simulations 4 --lanes 1 --out"
TRAIN = "train --game connect4 --out"


def contents(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def small_selfplay(out: Path, **changes: object) -> SelfplaySettings:
    values: dict[str, object] = {
        "game": "connect4",
        "net": "res_3x3_1x8",
        "out": out,
        "games": 2,
        "lanes": 1,
        "search": search_preset("gumbel", simulations=4),
        "pool": PoolSettings(parallel_games=2),
    }
    return SelfplaySettings(**{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def selfplay_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("selfplay")
    run_selfplay(small_selfplay(out))
    return out


@pytest.mark.parametrize(
    "changes",
    [
        {"net": "nowhere.safetensors"},
        {"net": "rez_3x3_1x8"},
        {"game": "othello"},
        {"evaluator": "onx"},
        {"precision": "int9"},
        {"evaluator": "torch", "precision": "int8"},
        {"openings": Path("nowhere.txt")},
        {"games": 0},
        {"search": search_preset("gumbel", simulations=0)},
        {"pool": PoolSettings(parallel_games=0)},
    ],
    ids=str,
)
def test_refused_selfplay_changes_nothing(
    selfplay_run: Path, tmp_path: Path, changes: dict[str, object]
) -> None:
    before = contents(selfplay_run)
    with pytest.raises(UserError):
        run_selfplay(small_selfplay(selfplay_run, **changes))
    assert contents(selfplay_run) == before
    if changes != {"game": "othello"}:
        with pytest.raises(UserError):
            run_selfplay(small_selfplay(tmp_path / "some" / "run", **changes))
        assert not (tmp_path / "some").exists()


def test_selfplay_refuses_a_net_of_another_game_and_keeps_its_own(
    selfplay_run: Path, tmp_path: Path
) -> None:
    run_selfplay(small_selfplay(tmp_path, game="othello", games=1))
    before = contents(selfplay_run)
    for text in (b"not a net", (tmp_path / "net.safetensors").read_bytes()):
        (tmp_path / "other.safetensors").write_bytes(text)
        with pytest.raises(UserError, match=r"other\.safetensors"):
            run_selfplay(small_selfplay(selfplay_run, net=str(tmp_path / "other.safetensors")))
    assert contents(selfplay_run) == before


@pytest.fixture(scope="module")
def train_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("train")
    run_training(tiny(out, generations=1))
    return out


@pytest.mark.parametrize(
    "changes",
    [
        {"net": "res_3x3_2x8"},
        {"game": "othello"},
        {"evaluator": "random"},
        {"reuse": 0.0},
        {"search": search_preset("gumbel", simulations=0)},
        {"pool": PoolSettings(parallel_games=0)},
        {"trainer": TrainerSettings(batch_size=0)},
    ],
    ids=str,
)
def test_refused_training_changes_nothing(train_run: Path, changes: dict[str, object]) -> None:
    before = contents(train_run)
    with pytest.raises(UserError):
        run_training(tiny(train_run, **changes))
    assert contents(train_run) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"net": "nowhere.safetensors"},
        {"rating": RatingSettings(anchors=("randon",))},
        {"search": search_preset("gumbel", simulations=0)},
    ],
    ids=str,
)
def test_refused_training_makes_no_folder(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(UserError):
        run_training(tiny(tmp_path / "some" / "run", **changes))
    assert not (tmp_path / "some").exists()


def test_a_run_continues_after_a_refused_net(train_run: Path) -> None:
    """The settings of the folder are the base of the next start: they must still be its own."""
    command = ["train", "--out", str(train_run)]
    assert main([*command, "--net", "res_3x3_2x8"]) == 2
    assert main([*command, "--generations", "2"]) == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.xdist_group("ray")
def test_a_learner_in_an_actor_refuses_another_net_in_one_line(
    train_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray").shutdown()
    before = contents(train_run)
    command = ["train", "--out", str(train_run), "--net", "res_3x3_2x8", "--workers", "1"]
    assert main(command) == 2
    err = capsys.readouterr().err
    assert "trains the net res_3x3_1x8, not res_3x3_2x8" in err
    assert err.count("\n") == 1
    assert contents(train_run) == before


def begin(command: str, out: Path) -> "subprocess.Popen[str]":
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "zerogames", *command.split(), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_run(process: "subprocess.Popen[str]", out: Path) -> None:
    deadline = time.monotonic() + 120
    while not (out / "run.json").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)


@pytest.mark.parametrize("command", [SELFPLAY, TRAIN], ids=["selfplay", "train"])
def test_a_second_command_in_the_folder_is_refused_in_one_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, _, options = command.partition(" ")
    process = begin(f"{name} --forever {options}", tmp_path)
    wait_for_run(process, tmp_path)
    text = (tmp_path / "run.json").read_bytes()
    assert main([name, *options.split(), str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert f"is in use by process {process.pid}" in err
    assert err.count("\n") == 1
    assert (tmp_path / "run.json").read_bytes() == text
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=120)[1] == ""
    assert process.returncode == 0


def test_no_session_number_is_handed_out_twice(tmp_path: Path) -> None:
    """Commands that start at the same moment: some are refused, the others come in turn."""
    commands = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    sessions = [int(n) for one in commands for n in one.communicate(timeout=120)[0].split()]
    assert len(sessions) >= 6
    assert sorted(sessions) == list(range(len(sessions)))
    assert len(json.loads((tmp_path / "run.json").read_text())["sessions"]) == len(sessions)
    prefixes = [path.name.partition("-")[0] for path in shard_paths(tmp_path)]
    assert sorted(map(int, prefixes)) == sorted(sessions)


TOGETHER = """
import json, sys
from pathlib import Path
from zerogames import UserError
from zerogames.search.settings import PoolSettings, search_preset
from zerogames_selfplay import SelfplaySettings, run_selfplay
settings = SelfplaySettings(
    game="connect4", evaluator="random", out=Path(sys.argv[1]), games=1, lanes=1,
    search=search_preset("gumbel", simulations=2), pool=PoolSettings(parallel_games=1),
)
accepted = 0
while accepted < 3:
    try:
        run = run_selfplay(settings)
    except UserError as error:
        assert "in use by" in str(error)
        continue
    print(run.shards[-1].name.partition("-")[0])
    accepted += 1
"""
