"""Every write, fsync, rename and mkdir of a command's folder made to fail, as SQLite tests them.

A preloaded library (inject.c) counts the calls that change files in the folder; a run without a
fault tells how many there are. Then one of them fails with an error, for once or with all that
follow, or the process is killed there. The command must say so in one line, the same command must
finish the work afterwards, and nothing that was counted may be lost.
"""

import contextlib
import ctypes
import errno
import json
import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from faulty_commands import COMMANDS, FaultyCommand, check_readable, left_behind, nnue_data

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """What happens at the chosen call; errno 0 kills the process."""

    error: int
    lasting: bool = False

    def __str__(self) -> str:
        name = errno.errorcode[self.error] if self.error else "kill"
        return f"{name}, lasting" if self.lasting else name


FAULTS = (
    Fault(errno.ENOSPC, lasting=True),
    Fault(0),
    Fault(errno.EIO),
    Fault(errno.EACCES, lasting=True),
)
QUICK_POINTS = {"train": 3, "train_in_parts": 3, "pretrain": 8}
"""Calls that fail in the quick test; 12 for commands that are not named."""
MOST_POINTS = 250
"""Calls that fail in the slow test: all of most commands, spread ones of `train`."""


class Control(ctypes.Structure):
    """`struct control` of inject.c."""

    _fields_ = (
        ("calls", ctypes.c_int32),
        ("fail_at", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("lasting", ctypes.c_int32),
        ("folder", ctypes.c_char * 4096),
        ("failed", ctypes.c_char * 4096),
    )


@dataclass
class Ended:
    """A command that has ended."""

    code: int
    """The exit code, or minus the signal."""
    out: str
    error: str


class Server:
    """Runs commands, with a fault or without."""

    def __init__(self, process: "subprocess.Popen[str]", control: Control, folder: Path) -> None:
        self.control = control
        self._process = process
        self._output = folder / "output"

    def run(self, words: list[str], folder: Path, at: int = 0, fault: Fault | None = None) -> Ended:
        """Run one command; call number `at` in `folder` fails."""
        control = self.control
        control.calls = control.fail_at = 0
        control.failed = b""
        control.error = fault.error if fault else 0
        control.lasting = fault is not None and fault.lasting
        control.fail_at = at
        control.folder = str(folder).encode()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([words, str(self._output)]) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        control.folder = b""
        return Ended(code, *(Path(f"{self._output}.{end}").read_text() for end in ("out", "err")))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A process that has imported everything and forks for each command."""
    if sys.platform != "linux":
        pytest.skip("faults are injected with LD_PRELOAD and /proc")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: the injection library cannot be made")
    folder = tmp_path_factory.mktemp("server")
    library = folder / "inject.so"
    build = [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*build, str(HERE / "inject.c"), "-ldl"], check=True)
    shared = folder / "control"
    shared.write_bytes(bytes(ctypes.sizeof(Control)))
    environment = os.environ | {
        "LD_PRELOAD": str(library),
        "FAULTS_CONTROL": str(shared),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    with shared.open("r+b") as file:
        control = Control.from_buffer(mmap.mmap(file.fileno(), 0))
    process = subprocess.Popen(
        [sys.executable, str(HERE / "command_server.py")],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Server(process, control, folder)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def inputs(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read: games, and labels for `nnue train`."""
    folder = tmp_path_factory.mktemp("inputs")
    words = nnue_data(folder).arguments(folder / "labels")
    assert server.run([*words], folder / "labels").code == 0
    return folder


def fail_at(server: Server, command: FaultyCommand, out: Path, at: int, fault: Fault) -> list[str]:
    """Let a command fail and continue; what was wrong."""
    problems = []
    words = [*command.arguments(out)]
    faulty = server.run(words, out, at, fault)
    place = f"{fault} at call {at} ({server.control.failed.decode() or 'not reached'})"
    lines = faulty.error.splitlines()
    if not server.control.failed:
        problems += [] if faulty.code == 0 else [f"exit code {faulty.code}: {faulty.error}"]
    elif fault.error == 0:
        problems += [] if faulty.code == -9 else [f"exit code {faulty.code}"]
    elif faulty.code != 2 or "Traceback" in faulty.error or lines[-1][:7] != "error: ":
        problems += [f"exit code {faulty.code}, said {faulty.error[-3000:]!r}"]
    try:
        before = command.counted(out) if out.exists() else set()
        if out.exists():
            check_readable(out)
        again = server.run(words, out)
        if again.code != 0:
            problems += [f"cannot continue: {again.error[-3000:]}"]
        else:
            check_readable(out)
            lost = before - command.counted(out)
            problems += [f"lost {lost}"] if lost else []
            left = left_behind(out)
            problems += [f"left {left}"] if left else []
    except Exception as error:  # named with the place
        problems += [f"{type(error).__name__}: {error}"]
    return [f"{place}: {problem}" for problem in problems]


def check_points(
    server: Server,
    command: FaultyCommand,
    folder: Path,
    choose: Callable[[int], Iterator[tuple[int, Fault]]],
) -> None:
    """Compare a command with faults at the chosen calls with one without."""
    whole = folder / "whole"
    ended = server.run([*command.arguments(whole)], whole)
    assert ended.code == 0, ended.error
    num_calls = server.control.calls
    assert num_calls > 10
    check_readable(whole)
    assert not left_behind(whole)
    expected = command.finished(whole)
    problems = []
    points = 0
    for at, fault in choose(num_calls):
        points += 1
        out = folder / "faulty"
        found = fail_at(server, command, out, at, fault)
        with contextlib.suppress(OSError):
            if not found and command.finished(out) != expected:
                found = [f"{fault} at call {at}: {command.finished(out)}, not {expected}"]
        problems += found
        if found:
            print("\n".join(found), flush=True)
        shutil.rmtree(out, ignore_errors=True)
    print(f"{command.name}: {num_calls} calls, {points} faults, {len(problems)} problems")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("make", COMMANDS, ids=lambda make: make.__name__)
def test_spread_faults(
    server: Server, inputs: Path, tmp_path: Path, make: Callable[[Path], FaultyCommand]
) -> None:
    def choose(num_calls: int) -> Iterator[tuple[int, Fault]]:
        points = QUICK_POINTS.get(make.__name__, 12)
        for point in range(points):
            yield 1 + point * (num_calls - 1) // (points - 1), FAULTS[point % len(FAULTS)]

    check_points(server, make(inputs), tmp_path, choose)


@pytest.mark.slow
@pytest.mark.parametrize("make", COMMANDS, ids=lambda make: make.__name__)
def test_every_fault(
    server: Server, inputs: Path, tmp_path: Path, make: Callable[[Path], FaultyCommand]
) -> None:
    def choose(num_calls: int) -> Iterator[tuple[int, Fault]]:
        for at in range(1, num_calls + 1, -(-num_calls // MOST_POINTS)):
            for fault in FAULTS:
                yield at, fault

    check_points(server, make(inputs), tmp_path, choose)
