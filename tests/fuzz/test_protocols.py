"""The engines as processes under random lines; `make fuzz-engines` sends a million to each."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["uci", "uci-nnue", "usi", "gtp", "gtp-analysis"])
def test_every_line_to_an_engine_is_answered_rightly(engine: str) -> None:
    driver = Path(__file__).with_name("protocols.py")
    command = [sys.executable, str(driver), engine, "--lines", "10000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
