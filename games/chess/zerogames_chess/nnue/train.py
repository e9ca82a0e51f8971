"""`zerogames nnue train`: from records to a network file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Train a network on labelled positions."""

    data: tyro.conf.Positional[Path]
    """The folder that `zerogames nnue data` made."""
    out: tyro.conf.Positional[Path]
    """The folder of the run; a started run is resumed exactly."""
    features: str = "piece"
    """The feature set, such as `piece+h+v`."""
    m: int = 256
    """The width of the accumulator."""
    o: int = 32
    """The number of units of the second layer."""
    p: int = 32
    """The number of units of the third layer; 0 leaves it out."""
    method: Literal["eval", "pqr"] = "eval"
    """`eval` learns the labels, `pqr` that the best move is better than another."""
    win_model: str = "fit"
    """fit (scales from the data), thesis, squares (its scales, errors squared) or official."""
    mirror: bool = True
    """Show half of the positions with left and right exchanged, where nobody may castle."""
    label_weight: float = 1.0
    """The weight of the label in the target, 0 to 1; the rest is the game's result."""
    equality: float = 1.0
    """The weight of the term f(p) = -f(q) in `pqr`."""
    learning_rate: float = 5e-4
    """The learning rate of Adam in the first epoch."""
    decay: float = 0.99
    """The factor of the learning rate per epoch."""
    batch: int = 16_384
    """The number of positions per step."""
    epoch_samples: int = 0
    """The number of positions per epoch; 0 takes all."""
    epochs: int = 20
    """The number of epochs; a larger number with the same folder continues the run."""
    seed: int = 0
    """The seed that decides the first weights and the order of the data."""
    threads: int = 2
    """The number of CPU threads."""
    start: Path | None = None
    """A checkpoint to start from, for example to fine-tune with `pqr`."""


def train(options: tyro.conf.OmitArgPrefixes[TrainOptions]) -> int:
    """Train a network on labelled positions and write it as an integer file.

    Args:
        options: data, network and method.
    """
    from zerogames_chess.nnue.trainer import run  # Torch is slow to import.

    run(options)
    return 0
