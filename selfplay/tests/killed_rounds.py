"""Training that is killed soon after each new checkpoint, and the steps of these checkpoints.

Called with the settings as JSON and the number of kills. Processes are forked before anything has
run.
"""

import json
import os
import signal
import sys
import time

from killed_lives import live
from zerogames_selfplay import TrainSettings
from zerogames_selfplay.loop.run_state import steps_in

from zerogames.config import make_settings
from zerogames.runs.folder import RunPaths


def main() -> None:
    """See the module."""
    settings = make_settings(TrainSettings, json.loads(sys.argv[1]))
    folder = RunPaths(settings.folder).checkpoints
    steps = [0]
    for _ in range(int(sys.argv[2])):
        pid = os.fork()
        if pid == 0:
            live(settings)
        while (newest := max(steps_in(folder), default=0)) <= steps[-1]:
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        steps.append(newest)
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
