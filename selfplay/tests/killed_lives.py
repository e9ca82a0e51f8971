"""Run a training again and again in processes that are killed, then once to the end.

Called with the settings as JSON, the number of kills and a seed. Processes are forked before
anything has run, so that a life does not begin with seconds of imports.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from zerogames_selfplay import TrainSettings, run_training

import zerogames.evaluate.onnx_
import zerogames.train.trainer  # noqa: F401
from zerogames.config import make_settings


def main() -> None:
    """See the module."""
    settings = make_settings(TrainSettings, json.loads(sys.argv[1]))
    kills, rng = int(sys.argv[2]), random.Random(int(sys.argv[3]))
    assert settings.out is not None
    killed = 0
    while killed < kills:
        generations = _generations(settings.out)
        pid = os.fork()
        if pid == 0:
            live(settings)
        # A moment of any round but the last, which would end the run.
        wanted = generations + (rng.randrange(2) if generations < settings.generations - 3 else 0)
        while _generations(settings.out) < wanted:
            time.sleep(0.02)
        time.sleep(rng.random() * 0.5)
        os.kill(pid, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    pid = os.fork()
    if pid == 0:
        live(settings)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps({"killed": killed}))
    sys.exit(code)


def live(settings: TrainSettings) -> None:
    """Train to the end and leave the process."""
    code = 1
    try:
        run_training(settings)
        code = 0
    finally:
        os._exit(code)


def _generations(out: Path) -> int:
    try:
        return len((out / "metrics.jsonl").read_text().splitlines())
    except OSError:
        return 0


if __name__ == "__main__":
    main()
