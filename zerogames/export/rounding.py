"""Rounding weights to int8 so that a layer's outputs, not its weights, change least.

Columns are rounded one after another; what a rounding costs is made good in the columns not yet
rounded, as far as the layer's inputs correlate (the method known as GPTQ or optimal brain
quantisation). It halves the error of plain rounding at least.
"""

import numpy as np
from numpy.typing import NDArray

LARGEST = 127
"""Weights are symmetric; -128 is not used."""
_DAMPING = 0.01
_BLOCK = 128
"""Columns whose corrections are applied to the rest together."""


def channel_scales(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """The step of each output channel, `[out]`, for weights `[out, ...]`."""
    largest = np.abs(weight.reshape(len(weight), -1)).max(axis=1, initial=0)
    scales: NDArray[np.float32] = np.maximum(largest / LARGEST, 1e-12).astype(np.float32)
    return scales


def round_plainly(weight: NDArray[np.float32], scales: NDArray[np.float32]) -> NDArray[np.int8]:
    """Each weight to the nearest step."""
    steps = weight / scales.reshape(-1, *[1] * (weight.ndim - 1))
    rounded: NDArray[np.int8] = np.clip(np.rint(steps), -LARGEST, LARGEST).astype(np.int8)
    return rounded


def round_with_inputs(
    weight: NDArray[np.float32],
    scales: NDArray[np.float32],
    second_moments: NDArray[np.float64],
) -> NDArray[np.int8]:
    """Weights `[out, ...]` with n numbers a row as int8.

    Args:
        weight: Zeros stay zeros: they are the places without a tap.
        scales: `[out]`.
        second_moments: `[n, n]`, the mean of x xT over the layer's inputs x.
    """
    rows: NDArray[np.float64] = weight.reshape(len(weight), -1).astype(np.float64)
    strength = np.diag(second_moments)
    order = np.argsort(-strength)
    matrix = second_moments[np.ix_(order, order)]
    matrix[np.diag_indices_from(matrix)] += _DAMPING * max(float(strength.mean()), 1e-12)
    # Row i of the factor says how the columns behind i make good an error in column i.
    factor = np.linalg.cholesky(np.linalg.inv(matrix)).T
    rows = rows[:, order]
    live = rows != 0
    steps = scales.astype(np.float64)
    rounded = np.zeros(rows.shape, np.int8)
    for first in range(0, rows.shape[1], _BLOCK):
        last = min(first + _BLOCK, rows.shape[1])
        errors = np.empty((len(rows), last - first))
        for column in range(first, last):
            nearest = np.clip(np.rint(rows[:, column] / steps), -LARGEST, LARGEST)
            nearest *= live[:, column]
            rounded[:, column] = nearest
            error = (rows[:, column] - nearest * steps) / factor[column, column]
            rows[:, column:last] -= np.outer(error, factor[column, column:last])
            errors[:, column - first] = error
        rows[:, last:] -= errors @ factor[first:last, last:]
    result = np.empty_like(rounded)
    result[:, order] = rounded
    return result.reshape(weight.shape)
