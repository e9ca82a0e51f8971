from collections.abc import Sequence

lanes: int

class Plan:
    def __init__(
        self,
        batch: int,
        channels: int,
        height: int,
        width: int,
        channels_last: bool,
        bfloat16: bool,
        group_sizes: Sequence[int],
        offsets: Sequence[int],
    ) -> None: ...
    def depthwise_forward(
        self,
        *,
        x: int,
        input_scale: int = 0,
        input_shift: int = 0,
        weight: int,
        bias: int = 0,
        relu: bool = False,
        y: int,
        mean: int = 0,
        variance: int = 0,
        threads: int = 1,
    ) -> None: ...
    def depthwise_backward(
        self,
        *,
        grad: int,
        y: int = 0,
        output_scale: int = 0,
        output_shift: int = 0,
        a: int = 0,
        b: int = 0,
        d: int = 0,
        y_mean: int = 0,
        x: int,
        input_scale: int = 0,
        input_shift: int = 0,
        x_mean: int = 0,
        weight: int,
        grad_x: int = 0,
        grad_weight: int = 0,
        grad_bias: int = 0,
        input_sums: int = 0,
        threads: int = 1,
    ) -> None: ...
    def moments(self, *, x: int, mean: int, variance: int, threads: int = 1) -> None: ...
    def normalise(
        self, *, x: int, scale: int, shift: int, relu: bool, y: int, threads: int = 1
    ) -> None: ...
    def gradient_sums(
        self,
        *,
        grad: int,
        x: int,
        scale: int,
        shift: int,
        relu: bool,
        mean: int,
        sums: int,
        threads: int = 1,
    ) -> None: ...
    def gradient_apply(
        self,
        *,
        grad: int,
        x: int,
        scale: int = 0,
        shift: int = 0,
        relu: bool,
        a: int,
        b: int,
        d: int,
        mean: int,
        grad_x: int,
        threads: int = 1,
    ) -> None: ...
