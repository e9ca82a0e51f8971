from collections.abc import Sequence
from typing import Required, TypedDict, Unpack

import torch

lanes: int

def use_types(
    float32: torch.dtype, bfloat16: torch.dtype, channels_last: torch.memory_format
) -> None: ...

class ForwardTensors(TypedDict, total=False):
    """None and missing ones are absent tensors, as in the classes below.

    Boards are as the plan says, the others float32 `[C]`, `[C, taps]` or `[C, 2]`.
    """

    x: Required[torch.Tensor]
    input_scale: torch.Tensor | None
    input_shift: torch.Tensor | None
    weight: Required[torch.Tensor]
    bias: torch.Tensor | None
    y: Required[torch.Tensor]
    mean: torch.Tensor | None
    variance: torch.Tensor | None

class BackwardTensors(TypedDict, total=False):
    grad: Required[torch.Tensor]
    y: torch.Tensor | None
    output_scale: torch.Tensor | None
    output_shift: torch.Tensor | None
    a: torch.Tensor | None
    b: torch.Tensor | None
    d: torch.Tensor | None
    y_mean: torch.Tensor | None
    x: Required[torch.Tensor]
    input_scale: torch.Tensor | None
    input_shift: torch.Tensor | None
    x_mean: torch.Tensor | None
    weight: Required[torch.Tensor]
    grad_x: torch.Tensor | None
    grad_weight: torch.Tensor | None
    grad_bias: torch.Tensor | None
    input_sums: torch.Tensor | None

class GradientTensors(TypedDict, total=False):
    grad: Required[torch.Tensor]
    x: Required[torch.Tensor]
    scale: torch.Tensor | None
    shift: torch.Tensor | None
    mean: Required[torch.Tensor]

class SumsTensors(GradientTensors):
    sums: torch.Tensor | None

class ApplyTensors(GradientTensors):
    a: torch.Tensor | None
    b: torch.Tensor | None
    d: torch.Tensor | None
    grad_x: torch.Tensor | None

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
    def moments(
        self, *, x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor, threads: int = 1
    ) -> None: ...
    def normalise(
        self,
        *,
        x: torch.Tensor,
        scale: torch.Tensor | None,
        shift: torch.Tensor | None,
        relu: bool,
        y: torch.Tensor,
        threads: int = 1,
    ) -> None: ...
    def gradient_sums(
        self, *, relu: bool, threads: int = 1, **tensors: Unpack[SumsTensors]
    ) -> None: ...
    def gradient_apply(
        self, *, relu: bool, threads: int = 1, **tensors: Unpack[ApplyTensors]
    ) -> None: ...
