"""The program `zerogames`, also as `python -m zerogames`."""

import os
import signal
import sys


def _leave(*_: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)


def main() -> int:
    """Run a command; Ctrl-C ends it with one word, from the first import to the last line."""
    earlier = signal.getsignal(signal.SIGINT)
    # An import that is interrupted may print a traceback or turn Ctrl-C into another error.
    ours = earlier is signal.default_int_handler  # else a shell has told us to ignore it
    if ours:
        signal.signal(signal.SIGINT, _leave)
    from zerogames.cli import main as run

    if ours:
        signal.signal(signal.SIGINT, earlier)
    try:
        return run()
    finally:
        if ours:  # nothing is left to do but to end
            signal.signal(signal.SIGINT, _leave)


if __name__ == "__main__":
    sys.exit(main())
