"""Runs commands for the fault tests, each in a fork: importing torch would take most of the time.

Reads one JSON list of arguments and a path per line; the command's output goes to `PATH.out` and
`PATH.err`, its exit status (negative: a signal) to stdout.
"""

import gc
import importlib
import json
import os
import sys

from zerogames import cli
from zerogames.registry import get_game

MODULES = (
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "onnx",
    "pyarrow.parquet",
    "sympy",
    "tensorboard.compat.proto.event_pb2",
    "tensorboard.summary.writer.record_writer",
    "torch",
    "torch._dynamo",
    "zerogames.arena.plot",
    "zerogames.commands.match",
    "zerogames.commands.pretrain",
    "zerogames.export",
    "zerogames.pretrain.run",
    "zerogames_chess.game_data",
    "zerogames_chess.nnue.command",
    "zerogames_chess.nnue.trainer",
    "zerogames_selfplay.commands.selfplay",
    "zerogames_selfplay.commands.train",
    "zerogames_selfplay.selfplay",
    "zerogames_selfplay.training",
)
"""What the commands import, at once or later.

Not onnxruntime, pandas and pyarrow.compute: they start threads, which a fork lacks.
"""


def main() -> None:
    """Serve until the end of stdin."""
    for name in MODULES:
        importlib.import_module(name)
    for name in ("connect4", "chess"):
        get_game(name)
    gc.freeze()  # Or a collection in a child copies every page.
    for line in sys.stdin:
        arguments, output = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            for stream, suffix in ((1, ".out"), (2, ".err")):
                os.dup2(os.open(output + suffix, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            code = cli.main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # Taking all modules apart takes longer than the command.
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
