"""Files that are there whole or not at all."""

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from zerogames.atomic import write_atomically, write_text_atomically


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
