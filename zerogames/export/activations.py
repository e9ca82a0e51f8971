"""What flows through a net's graph on given positions: ranges and moments of its tensors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper

from zerogames.errors import UserError
from zerogames.export.names import INPUT_PLANES

Array = NDArray[np.float32]
_BATCH = 64
_ROWS = 2048
"""The number of board points of a batch that moments are taken from."""


@dataclass(frozen=True)
class Range:
    """The smallest and the largest number of a tensor, and 0."""

    low: float
    high: float

    @property
    def scale(self) -> np.float32:
        """The step of uint8."""
        return np.float32(max((self.high - self.low) / 255, 1e-12))

    @property
    def zero_point(self) -> int:
        """The step that means 0."""
        return int(np.clip(np.rint(-self.low / self.scale), 0, 255))

    def rounded(self, values: Array) -> Array:
        """The values as uint8 sees them."""
        steps = np.clip(np.rint(values / self.scale) + self.zero_point, 0, 255)
        seen: Array = ((steps - self.zero_point) * self.scale).astype(np.float32)
        return seen


def flow(model: onnx.ModelProto, names: Sequence[str], planes: Array) -> Iterator[dict[str, Array]]:
    """The named tensors, batch by batch."""
    opened = onnx.ModelProto()
    opened.CopyFrom(model)
    outside = {output.name for output in model.graph.output} | {INPUT_PLANES}
    opened.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in names
        if name not in outside
    )
    options = onnxruntime.SessionOptions()
    # Fusions would hide tensors that are asked for.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        opened.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inside = [name for name in names if name != INPUT_PLANES]
    for first in range(0, len(planes), _BATCH):
        batch = np.ascontiguousarray(planes[first : first + _BATCH])
        found = session.run(inside, {INPUT_PLANES: batch}) if inside else []
        yield {INPUT_PLANES: batch, **dict(zip(inside, found, strict=True))}


def find_ranges(model: onnx.ModelProto, names: Sequence[str], planes: Array) -> dict[str, Range]:
    """The ranges of tensors; numbers that are none are a `UserError`."""
    ranges = {name: Range(0.0, 0.0) for name in names}
    for batch in flow(model, names, planes):
        for name in names:
            low, high = float(batch[name].min()), float(batch[name].max())
            if not np.isfinite([low, high]).all():
                raise UserError(f"the net computes no finite numbers in {name}; it cannot be int8")
            known = ranges[name]
            ranges[name] = Range(min(low, known.low), max(high, known.high))
    return ranges


def find_largest(model: onnx.ModelProto, names: Sequence[str], planes: Array) -> dict[str, Array]:
    """The largest absolute number of each channel, `[C]`, of tensors `[B, C, H, W]`."""
    largest: dict[str, Array] = {}
    for batch in flow(model, names, planes):
        for name in names:
            found = np.maximum(np.abs(batch[name]).max(axis=(0, 2, 3)), np.float32(1e-9))
            largest[name] = np.maximum(found, largest.get(name, found))
    return largest


@dataclass
class InputMoments:
    """Moments of a layer's inputs, a row for each board point, unrolled as in the weights."""

    second: NDArray[np.float64]
    """`[n, n]`, of the inputs as uint8 sees them."""
    mean_error: NDArray[np.float64]
    """`[n]`: how much larger the inputs are than uint8 sees them, on average."""


def find_moments(
    model: onnx.ModelProto,
    windows: Mapping[str, tuple[str, int]],
    ranges: Mapping[str, Range],
    planes: Array,
) -> dict[str, InputMoments]:
    """The moments of layers by name, given each layer's input tensor and window size."""
    rng = np.random.default_rng(0)
    sums: dict[str, InputMoments] = {}
    batches = 0
    names = sorted({tensor for tensor, _ in windows.values()})
    for batch in flow(model, names, planes):
        batches += 1
        for layer, (tensor, size) in windows.items():
            values = batch[tensor]
            rows = unrolled(values, size, rng)
            seen = ranges[tensor].rounded(rows)
            second = (seen.T @ seen / len(rows)).astype(np.float64)
            error = (rows - seen).mean(axis=0, dtype=np.float64)
            if layer in sums:
                sums[layer].second += second
                sums[layer].mean_error += error
            else:
                sums[layer] = InputMoments(second, error)
    for moments in sums.values():
        moments.second /= batches
        moments.mean_error /= batches
    return sums


def unrolled(values: Array, size: int, rng: np.random.Generator) -> Array:
    """Some rows of what a layer multiplies its weights with, `[rows, C * size * size]`."""
    if values.ndim == 2:
        return values
    batch, channels, height, width = values.shape
    pad = size // 2
    padded = np.pad(values, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))
    points = batch * height * width
    chosen = rng.choice(points, min(points, _ROWS), replace=False)
    image, point = np.divmod(chosen, height * width)
    row, column = np.divmod(point, width)
    return windows[image, :, row, column].reshape(len(chosen), channels * size * size)
