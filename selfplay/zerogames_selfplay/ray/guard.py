"""A process that ends a local Ray when the command that started it is gone, however it ended.

Ray's own processes notice the death of their parent, but its agents then wait a minute for a server
that died too. The guard waits for the end of its standard input, which the kernel closes when the
command dies, and kills what is left.
"""

import subprocess
import sys

from zerogames_selfplay.ray.processes import end_processes

_GRACE_S = 10.0


class ProcessGuard:
    """The side of the command; `close` ends what is left of the marked processes."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        # In a session of its own, so that Ctrl-C and a closed terminal do not reach it.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the marked processes and the guard."""
        end_processes(self._mark)
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


if __name__ == "__main__":
    sys.stdin.read()
    end_processes(sys.argv[1], timeout_s=_GRACE_S)
