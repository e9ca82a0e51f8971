"""`zerogames nnue train`: from records to a network file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Train a network on labelled positions."""

    data: tyro.conf.Positional[Path]
    """Folder that `zerogames nnue data` made."""
    out: tyro.conf.Positional[Path]
    """Run folder; a started run is resumed exactly."""
    features: str = "piece"
    """Feature set, such as `piece+h+v`."""
    m: int = 256
    """Accumulator width."""
    o: int = 32
    """Second layer."""
    p: int = 32
    """Third layer; 0: none."""
    method: Literal["eval", "pqr"] = "eval"
    """Learn labels, or that the best move is better than another."""
    win_model: str = "fit"
    """fit (scales from the data), thesis, squares (its scales, errors squared) or official."""
    mirror: bool = True
    """Show half of the positions with left and right exchanged, where nobody may castle."""
    label_weight: float = 1.0
    """1: labels only; below: the rest is the game's result."""
    equality: float = 1.0
    """Weight of f(p) = -f(q) in pqr."""
    learning_rate: float = 5e-4
    """Of Adam."""
    decay: float = 0.99
    """The learning rate's factor per epoch."""
    batch: int = 16_384
    """Positions per step."""
    epoch_samples: int = 0
    """Positions per epoch; 0: all."""
    epochs: int = 20
    """How many; more with the same folder goes on."""
    seed: int = 0
    """Decides on start weights and order."""
    threads: int = 2
    """CPU threads."""
    start: Path | None = None
    """Checkpoint to start from, e.g. to fine-tune with pqr."""


def train(options: tyro.conf.OmitArgPrefixes[TrainOptions]) -> int:
    """Train a network on labelled positions and write it as an integer file.

    Args:
        options: data, network and method.
    """
    from zerogames_chess.nnue.trainer import run  # Torch is slow to import.

    run(options)
    return 0
