import numpy as np
from numpy.typing import NDArray

def unpack_samples(
    samples: list[bytes],
    planes: NDArray[np.float32],
    policy: NDArray[np.float32],
    legal: NDArray[np.bool_],
    result: NDArray[np.float32],
    search: NDArray[np.float32],
    moves_left: NDArray[np.float32],
    weights: NDArray[np.float32],
    plies: NDArray[np.float32],
    cell_maps: NDArray[np.int32],
    action_maps: NDArray[np.int32],
    symmetries: NDArray[np.uint8],
) -> None: ...
