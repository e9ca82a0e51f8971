"""Play chess under a user interface that speaks UCI."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from zerogames.errors import UserError
from zerogames_chess.uci.engine import Engine
from zerogames_chess.uci.session import Session

MAX_NODES = 1_000_000_000


def uci(
    *,
    net: Path | None = None,
    nnue: Path | None = None,
    backend: Literal["onnx", "torch", "constant", "random"] = "onnx",
    precision: Literal["fp32", "int8"] = "fp32",
    threads: int = 0,
    batch: int = 32,
    hash_mb: Annotated[int | None, tyro.conf.arg(name="hash")] = None,
    nodes: int | None = None,
    movetime: int | None = None,
) -> int:
    """Play chess under a user interface that speaks UCI.

    Args:
        net: A net file, ours or Lc0's (.pb.gz); by default the newest that was trained here, else
            the one that comes with the program.
        nnue: Play alpha-beta with this NNUE network instead.
        backend: What evaluates the net; constant and random need none.
        precision: int8 is faster and not quite the same.
        threads: CPU threads; 0 takes all cores.
        batch: Most positions per call of the net.
        hash_mb: Megabytes for evaluations (256), with --nnue for the transposition table (16).
        nodes: Most nodes a move, whatever the user interface allows; 1 plays without search.
        movetime: Most milliseconds a move, whatever the user interface allows.
    """
    for name, value, low, high in (
        ("threads", threads, 0, 512),
        ("batch", batch, 1, 1024),
        ("hash", hash_mb, 1, 65_536),
        ("nodes", nodes, 1, MAX_NODES),
        ("movetime", movetime, 1, 86_400_000),
    ):
        if value is not None and not low <= value <= high:
            raise UserError(f"--{name} {value}: must be from {low} to {high}")
    engine: Engine
    if nnue is not None:
        if net is not None:
            raise UserError("give --net or --nnue, not both")
        from zerogames_chess.nnue.uci import NnueEngine

        engine = NnueEngine(nnue, hash_mb=hash_mb or 16)
    else:
        from zerogames_chess.uci.net_engine import NetEngine, NetSettings

        engine = NetEngine(
            NetSettings(
                net=None if backend in ("constant", "random") else _find_net(net),
                backend=backend,
                precision=precision,
                threads=threads or len(os.sched_getaffinity(0)),
                batch=batch,
                hash_mb=hash_mb or 256,
            )
        )
    session = Session(
        engine,
        sys.stdout,
        nodes=nodes,
        move_time_s=None if movetime is None else movetime / 1000,
    )
    session.run(sys.stdin.buffer)
    return 0


def _find_net(net: Path | None) -> Path:
    """The given file, if it is one for chess."""
    if net is None:
        raise UserError("no net yet; give one with --net FILE")
    if not net.is_file():
        raise UserError(f"there is no net file '{net}'; train one or give its path")
    if net.suffix == ".safetensors":
        from zerogames.nets import read_net_info

        info = read_net_info(net)
        if info.game.partition(":")[0] != "chess":
            raise UserError(f"{net} plays {info.game}, not chess")
    return net


def main(argv: Sequence[str]) -> int:
    """Run `zerogames uci`."""
    return int(tyro.cli(uci, args=argv, prog="zerogames uci"))
