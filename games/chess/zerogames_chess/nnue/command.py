"""NNUE for chess: feature sets, data, training, and the engine's signature."""

from collections.abc import Callable, Sequence

from zerogames.arguments import read_subcommand
from zerogames_chess.nnue.bench import bench
from zerogames_chess.nnue.data import data
from zerogames_chess.nnue.describe import features
from zerogames_chess.nnue.merge import merge
from zerogames_chess.nnue.study import study
from zerogames_chess.nnue.train import train


def main(argv: Sequence[str]) -> int:
    """Run `zerogames nnue`."""
    commands: dict[str, Callable[..., int]] = {
        "bench": bench,
        "data": data,
        "features": features,
        "merge": merge,
        "study": study,
        "train": train,
    }
    return int(
        read_subcommand(
            commands,
            argv,
            "zerogames nnue",
            description="NNUE for chess: feature sets, data, training.",
        )
    )
