from collections.abc import Sequence
from typing import Required, TypedDict, Unpack

lanes: int

class ForwardTensors(TypedDict, total=False):
    """Addresses; 0 and missing ones are absent tensors, as in the classes below."""

    x: Required[int]
    input_scale: int
    input_shift: int
    weight: Required[int]
    bias: int
    y: Required[int]
    mean: int
    variance: int

class BackwardTensors(TypedDict, total=False):
    grad: Required[int]
    y: int
    output_scale: int
    output_shift: int
    a: int
    b: int
    d: int
    y_mean: int
    x: Required[int]
    input_scale: int
    input_shift: int
    x_mean: int
    weight: Required[int]
    grad_x: int
    grad_weight: int
    grad_bias: int
    input_sums: int

class GradientTensors(TypedDict, total=False):
    grad: Required[int]
    x: Required[int]
    scale: int
    shift: int
    mean: Required[int]

class SumsTensors(GradientTensors):
    sums: int

class ApplyTensors(GradientTensors):
    a: int
    b: int
    d: int
    grad_x: int

class Plan:
    def __init__(
        self,
        shape: tuple[int, int, int, int],
        channels_last: bool,
        bfloat16: bool,
        group_sizes: Sequence[int],
        offsets: Sequence[int],
    ) -> None: ...
    def depthwise_forward(
        self, *, relu: bool = False, threads: int = 1, **tensors: Unpack[ForwardTensors]
    ) -> None: ...
    def depthwise_backward(
        self, *, threads: int = 1, **tensors: Unpack[BackwardTensors]
    ) -> None: ...
    def moments(self, *, x: int, mean: int, variance: int, threads: int = 1) -> None: ...
    def normalise(
        self, *, x: int, scale: int, shift: int, relu: bool, y: int, threads: int = 1
    ) -> None: ...
    def gradient_sums(
        self, *, relu: bool, threads: int = 1, **tensors: Unpack[SumsTensors]
    ) -> None: ...
    def gradient_apply(
        self, *, relu: bool, threads: int = 1, **tensors: Unpack[ApplyTensors]
    ) -> None: ...
