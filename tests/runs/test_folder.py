"""What a run's folder may hold before and after it is begun, and who may write into it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from zerogames import UserError
from zerogames.runs.folder import (
    NET_NAME,
    RUN_NAME,
    SETTINGS_NAME,
    RunFolder,
    SettingsFolder,
    read_run,
)
from zerogames.runs.lock import LOCK_NAME


def opened(path: Path, kind: str = "train", game: str = "connect4") -> RunFolder:
    return RunFolder(path, kind=kind, game=game, settings={"seed": 7})


def begun(path: Path, kind: str = "train", game: str = "connect4") -> int:
    """Begin a session and end it; its number."""
    with opened(path, kind, game) as run:
        run.begin()
        return run.session


def contents(path: Path) -> dict[str, bytes]:
    """Every file by name, but not the time of its last access."""
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def test_sessions_are_counted_and_settings_kept(tmp_path: Path) -> None:
    assert [begun(tmp_path / "run") for _ in range(3)] == [0, 1, 2]
    table = read_run(tmp_path / "run", "train")
    assert table is not None
    assert table["settings"] == {"seed": 7}
    assert len(table["sessions"]) == 3
    assert sorted(os.listdir(tmp_path / "run")) == [RUN_NAME]


def test_a_net_or_the_rest_of_a_killed_start_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / NET_NAME).write_bytes(b"net")
    (tmp_path / LOCK_NAME).write_text("4711\n")
    (tmp_path / f".{RUN_NAME}.123.tmp").write_text('{"kind": "tra')
    assert begun(tmp_path, "selfplay") == 0


def test_what_killed_sessions_were_writing_is_removed_below_the_folder_too(tmp_path: Path) -> None:
    begun(tmp_path)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    shards = tmp_path / "shards"
    shards.mkdir()
    for writer in (dead.pid, os.getpid()):
        (shards / f".0000-000022.parquet.{os.uname().nodename}-{writer}.tmp").write_bytes(b"half")
    begun(tmp_path)
    assert [path.name.rpartition("-")[2] for path in shards.iterdir()] == [f"{os.getpid()}.tmp"]


def test_folders_of_something_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("dear reader")
    with pytest.raises(UserError, match=r"is not empty and has no run\.json"):
        opened(tmp_path)
    begun(tmp_path / "run")
    with pytest.raises(UserError, match="folder of `zerogames train`"):
        opened(tmp_path / "run", "pretrain")
    with pytest.raises(UserError, match="a run of connect4, not of othello"):
        opened(tmp_path / "run", game="othello")
    with pytest.raises(UserError, match="is a file"):
        opened(tmp_path / "thesis.txt")
    begun(tmp_path / "run")  # what was refused has left no lock


@pytest.mark.parametrize("missing", ["kind", "game", "sessions", "settings"])
def test_a_file_without_one_of_its_parts_is_named(tmp_path: Path, missing: str) -> None:
    begun(tmp_path)
    table = json.loads((tmp_path / RUN_NAME).read_text())
    del table[missing]
    (tmp_path / RUN_NAME).write_text(json.dumps(table))
    with pytest.raises(UserError, match=f"damaged or of an older version.*{missing}"):
        opened(tmp_path)


def test_a_refused_command_changes_nothing(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    before = contents(tmp_path)
    with opened(tmp_path / "run") as run, pytest.raises(RuntimeError):
        run.session  # noqa: B018
    with opened(tmp_path / "some" / "new" / "run"):
        pass
    with pytest.raises(UserError):
        opened(tmp_path / "run", "pretrain")
    assert contents(tmp_path) == before
    assert not (tmp_path / "some").exists()


def test_settings_must_stay_the_same(tmp_path: Path) -> None:
    settings = {"pgn": Path("games.pgn"), "depth": 9, "data": ("a", "b")}
    for _ in range(2):
        with SettingsFolder(tmp_path / "labels", settings) as folder:
            folder.begin()
    before = contents(tmp_path)
    with pytest.raises(UserError, match=r"begun with other settings \(depth\)"):
        SettingsFolder(tmp_path / "labels", settings | {"depth": 8})
    assert contents(tmp_path) == before
    with (
        SettingsFolder(tmp_path / "labels", settings),
        pytest.raises(UserError, match=f"in use by process {os.getpid()};"),
    ):
        SettingsFolder(tmp_path / "labels", settings)
    (tmp_path / "labels" / SETTINGS_NAME).write_text("{")
    with pytest.raises(UserError, match="damaged"):
        SettingsFolder(tmp_path / "labels", settings)


HOLD = """
import sys, time
from zerogames.errors import UserError
from zerogames.runs.folder import RunFolder
try:
    run = RunFolder(sys.argv[1], kind="train", game="connect4", settings={})
    run.begin()
except UserError as error:
    print(error, flush=True)
    sys.exit(2)
print(f"session {run.session}", flush=True)
time.sleep(float(sys.argv[2]))
run.close()
"""


def start(path: Path, hold_s: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HOLD, str(path), str(hold_s)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def holder(path: Path) -> Iterator["subprocess.Popen[str]"]:
    process = start(path, 60)
    try:
        assert first_line(process) == "session 0"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_command_is_refused_in_one_line(tmp_path: Path) -> None:
    with holder(tmp_path / "run") as process:
        before = contents(tmp_path)
        second = start(tmp_path / "run", 0)
        text, _ = second.communicate(timeout=30)
        assert second.returncode == 2
        assert text.count("\n") == 1
        assert f"{tmp_path / 'run'} is in use by process {process.pid};" in text
        assert read_run(tmp_path / "run", "train") is not None  # readers need no lock
        assert contents(tmp_path) == before


def test_a_killed_holder_blocks_nobody(tmp_path: Path) -> None:
    with holder(tmp_path / "run") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (tmp_path / "run" / LOCK_NAME).exists()
        assert begun(tmp_path / "run") == 1


def test_simultaneous_starts_never_share_a_number(tmp_path: Path) -> None:
    lines: list[str] = []
    deadline = time.monotonic() + 60
    while sum(line.startswith("session") for line in lines) < 6:
        assert time.monotonic() < deadline
        processes = [start(tmp_path / "run", 0.02) for _ in range(3)]
        lines += [process.communicate(timeout=30)[0].strip() for process in processes]
    sessions = [line for line in lines if line.startswith("session")]
    assert sorted(sessions, key=lambda line: int(line.split()[1])) == [
        f"session {number}" for number in range(len(sessions))
    ]
    assert all("is in use by" in line for line in lines if not line.startswith("session"))
    table = read_run(tmp_path / "run", "train")
    assert table is not None
    assert len(table["sessions"]) == len(sessions)
