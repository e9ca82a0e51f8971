"""`zerogames nnue bench`: the node signature and speeds of a network file."""

from pathlib import Path
from typing import Annotated

import tyro

from zerogames_chess.nnue import _native
from zerogames_chess.nnue.engine import BENCH_DEPTH
from zerogames_chess.nnue.engine import bench as run_bench
from zerogames_chess.nnue.inference import load_native
from zerogames_chess.nnue.network import read_network


def bench(
    network: Annotated[Path, tyro.conf.Positional],
    /,
    *,
    depth: int = BENCH_DEPTH,
    evaluations: int = 200_000,
) -> int:
    """Search fixed positions and evaluate a stream of them.

    The number of nodes is a signature: it changes exactly when the search or the network does.

    Args:
        network: The network file.
        depth: Plies of each search.
        evaluations: Length of the stream.
    """
    native = load_native(read_network(network))
    nodes, seconds = run_bench(_native.Engine(native, 16), depth)
    count, spent = _native.time_evaluations(native, max(1, evaluations), 1)
    print(f"kernel {native.kernel}")
    print(f"nodes {nodes}")
    print(f"nodes/s {nodes / max(seconds, 1e-3):,.0f}")
    print(f"evaluations/s {count / spent:,.0f}")
    return 0
