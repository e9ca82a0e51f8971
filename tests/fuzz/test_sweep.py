"""A small share of the sweep of damaged files; `sweep.py` runs all of it."""

import subprocess
import sys
from pathlib import Path

import pytest

SWEEP = Path(__file__).with_name("sweep.py")


def sweep(*words: str) -> str:
    """The table of a sweep, in a process whose memory is its own."""
    done = subprocess.run([sys.executable, str(SWEEP), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_damaged_files_of_some_kinds_are_read_or_refused_in_one_line() -> None:
    table = sweep("archive", "journal", "lc0_gz", "preset", "shogi_csa", "--files", "250")
    assert "\n250 files, 0 findings" in table


@pytest.mark.slow
def test_damaged_files_of_all_kinds_are_read_or_refused_in_one_line() -> None:
    assert " 0 findings" in sweep("--files", "10000", "--seconds", "600")
