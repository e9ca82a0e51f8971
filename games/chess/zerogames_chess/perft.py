"""`zerogames perft`: counts the positions that legal moves lead to."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import chess
import tyro

from zerogames.arguments import read_options
from zerogames.errors import UserError
from zerogames_chess import _native


@dataclass(frozen=True, kw_only=True)
class PerftOptions:
    """Count the move sequences of a depth, for each first move and together."""

    depth: tyro.conf.Positional[int]
    """The number of plies to count."""
    fen: str = chess.STARTING_FEN
    """The position to start from, as a FEN."""
    chess960: bool = False
    """Whether castling is written as king takes rook and Chess960 castling rights are read."""


def main(argv: Sequence[str]) -> int:
    """Run the command; raise `UserError` for a position that cannot be."""
    options = read_options(PerftOptions, argv, "zerogames perft")
    if options.depth < 1:
        raise UserError(f"depth {options.depth}: must be at least 1")
    state = _native.State.from_fen(options.fen, options.chess960)
    began = time.perf_counter()
    counts = state.divide(options.depth)
    seconds = time.perf_counter() - began
    for move, nodes in counts:
        print(f"{move}: {nodes}")
    total = sum(nodes for _, nodes in counts)
    print(f"\n{total} nodes in {seconds:.3f} s, {total / max(seconds, 1e-9) / 1e6:.1f} million/s")
    return 0
