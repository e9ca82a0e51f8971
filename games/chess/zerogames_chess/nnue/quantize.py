"""Rounding float weights to the integer network; what would be clipped or overflow is refused."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.network import (
    ACTIVATION_SCALE,
    MAX_BIAS,
    OUTPUT_FIXED,
    OUTPUT_SCALE,
    WEIGHT_SCALE,
    Network,
    check_overflow,
)

HIDDEN_LIMIT = 127 / WEIGHT_SCALE
"""Hidden weights are clipped to this after every training step."""
OUTPUT_LIMIT = 127 * ACTIVATION_SCALE / (OUTPUT_SCALE * OUTPUT_FIXED)
"""The limit of the last layer's weights."""


class _Scaled(NamedTuple):
    values: NDArray[np.int64]
    name: str

    def fit(self, limit: int) -> NDArray[np.int64]:
        worst = int(np.abs(self.values).max(initial=0))
        if worst > limit:
            raise UserError(
                f"{self.name} reaches {worst}, beyond {limit}: quantising would clip it; "
                "clip weights during training"
            )
        return self.values


def quantize(features: FeatureSet, weights: Mapping[str, NDArray[np.float32]]) -> Network:
    """Round to integers.

    Args:
        features: the set of the first layer.
        weights: `w1` [N, M], `b1`, `w2` [O, 2M], `b2`, `w3` [P, O], `b3`, `w4` [P], `b4` [1];
            without a third layer `w3` is [0, O], `b3` is empty and `w4` [O].

    Raises:
        UserError: if a weight is beyond its integer type, or an accumulator could overflow.
    """

    def scaled(name: str, scale: float) -> _Scaled:
        values = weights[name].astype(np.float64) * scale
        if not np.isfinite(values).all():
            raise UserError(f"{name} has weights that are not numbers; the training diverged")
        return _Scaled(np.rint(values).astype(np.int64), name)

    bias_scale = ACTIVATION_SCALE * WEIGHT_SCALE
    output = OUTPUT_SCALE * OUTPUT_FIXED
    w1 = scaled("w1", ACTIVATION_SCALE).fit(32_767).copy()
    # Untrained rows would make files differ for nothing.
    w1[sorted(features.dead)] = 0
    b1 = scaled("b1", ACTIVATION_SCALE).fit(32_767)
    check_overflow(features, w1, b1)
    return Network(
        features=features.name,
        w1=w1.astype(np.int16),
        b1=b1.astype(np.int16),
        w2=scaled("w2", WEIGHT_SCALE).fit(127).astype(np.int8),
        b2=scaled("b2", bias_scale).fit(MAX_BIAS).astype(np.int32),
        w3=scaled("w3", WEIGHT_SCALE).fit(127).astype(np.int8),
        b3=scaled("b3", bias_scale).fit(MAX_BIAS).astype(np.int32),
        w4=scaled("w4", output / ACTIVATION_SCALE).fit(127).astype(np.int8),
        b4=int(scaled("b4", output).fit(MAX_BIAS)[0]),
    )
