import numpy as np
from numpy.typing import NDArray

from zerogames.data.sample import SampleBatch, Symmetries

def unpack_samples(
    samples: list[bytes],
    out: SampleBatch,
    symmetries: Symmetries | None,
    chosen: NDArray[np.uint8],
) -> None: ...
