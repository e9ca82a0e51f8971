"""What a net says about positions, as arrays; needs no torch."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Evaluation(NamedTuple):
    """The evaluations of B positions, all in the side to move's view."""

    policy_logits: NDArray[np.float32]
    """`[B, A]`, before any softmax; illegal actions included."""
    wdl: NDArray[np.float32]
    """`[B, 3]` probabilities of win, draw, loss."""
    moves_left: NDArray[np.float32] | None
    """`[B]` plies, if the net predicts them."""
