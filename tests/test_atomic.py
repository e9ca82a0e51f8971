"""Files that are there whole or not at all."""

import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from zerogames.atomic import (
    append_durably,
    temporary_path,
    write_atomically,
    write_text_atomically,
)

APPEND_PAST_THE_LIMIT = """
import resource, signal, sys
from pathlib import Path
from zerogames.runs.metrics_log import JsonLines
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = JsonLines(Path(sys.argv[1]), last_step=9)
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
try:
    log.add({"step": 2, "text": "x" * 40})
except OSError:
    sys.exit(7)
"""


def test_threads_that_make_the_same_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "cached.bin"
    writers = 4
    together = threading.Barrier(writers, timeout=30)

    def make(number: int) -> None:
        def write(temporary: Path) -> None:
            temporary.write_bytes(bytes([number]) * 1000)
            together.wait()  # all have written, none has renamed

        write_atomically(path, write)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(make, range(writers)))
    content = path.read_bytes()
    assert len(content) == 1000
    assert len(set(content)) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write_text_atomically(path, "old")
    assert stat.S_IMODE(path.stat().st_mode) & 0o400

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import sys, time
from pathlib import Path
from zerogames.atomic import write_atomically
def write(temporary):
    temporary.write_bytes(b"half")
    print("written", flush=True)
    time.sleep(60)
write_atomically(Path(sys.argv[1]), write)
"""


def test_what_a_killed_writer_left_is_removed_and_a_living_one_is_left_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / ".other.elsewhere-1.tmp").write_text("another host's")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / name)], stdout=subprocess.PIPE
        )
        for name in ("killed", "living")
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"written\n"
        os.kill(writers[0].pid, signal.SIGKILL)
        writers[0].wait()
        assert len(list(tmp_path.glob(".killed.*"))) == 1
        write_text_atomically(tmp_path / "next", "next")
        assert not list(tmp_path.glob(".killed.*"))
        assert len(list(tmp_path.glob(".living.*"))) == 1
        assert (tmp_path / ".other.elsewhere-1.tmp").exists()
        folder = temporary_path(tmp_path / "folder")
        assert folder.parent == tmp_path
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def test_appended_bytes_follow_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append_durably(path, b"one\n")
    append_durably(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_line_that_does_not_fit_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n')
    done = subprocess.run([sys.executable, "-c", APPEND_PAST_THE_LIMIT, str(path)], check=False)
    assert done.returncode == 7
    assert path.read_text() == '{"step": 1}\n'
