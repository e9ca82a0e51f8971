"""Random integer networks for tests."""

import numpy as np
from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.network import Network


def random_network(features: str, m: int, o: int, p: int, *, seed: int) -> Network:
    """Weights that reach the limits of their types, accumulators around the clipping range."""
    generator = np.random.default_rng(seed)
    whole = FeatureSet(features)
    limit = max(1, min(40, 30_000 // whole.max_active))

    def integers(low: int, high: int, *shape: int) -> np.ndarray:
        return generator.integers(low, high, shape, endpoint=True)

    w1 = integers(-limit, limit, whole.size, m)
    w1[sorted(whole.dead)] = 0
    return Network(
        features=features,
        w1=w1.astype(np.int16),
        b1=integers(-100, 200, m).astype(np.int16),
        w2=integers(-127, 127, o, 2 * m).astype(np.int8),
        b2=integers(-8128, 8128, o).astype(np.int32),
        w3=integers(-127, 127, p, o).astype(np.int8),
        b3=integers(-8128, 8128, p).astype(np.int32),
        w4=integers(-127, 127, p or o).astype(np.int8),
        b4=int(integers(-9600, 9600, 1)[0]),
    )
