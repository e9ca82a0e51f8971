"""Layers for networks: the board-shaped depthwise convolution and batch norms fused with it.

Everything falls back to plain torch where the CPU kernels do not apply: on other devices and types,
in evaluation, in an ONNX export.
"""

import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from zerogames_kernels import fused, reference
from zerogames_kernels.depthwise import CPU_TYPES, FORMS, MAX_BOARD, run_operator
from zerogames_kernels.groups import flatten_offsets, group_offsets, group_sizes
from zerogames_kernels.layer import DepthwiseLayer
from zerogames_kernels.pattern import Pattern


def _in_onnx_export() -> bool:
    # Asked in every call; torch's own function imports two modules to answer.
    tracing = torch.jit.is_tracing() or torch.compiler.is_compiling()  # type: ignore[attr-defined, no-untyped-call]
    return tracing and torch.onnx.is_in_onnx_export()


def runs_native(x: torch.Tensor, *parameters: torch.Tensor | None) -> bool:
    """Whether the CPU kernels take `x`: boards up to 25x25, outside an ONNX export.

    Boards are float32 or, under autocast, bfloat16; the parameters are float32.
    """
    return (
        x.is_cpu
        and x.dtype in CPU_TYPES
        and all(p is None or p.dtype == torch.float32 for p in parameters)
        and x.dim() == 4
        and max(x.shape[2:]) <= MAX_BOARD
        and not _in_onnx_export()
    )


class BoardDepthwise(nn.Module):
    """A depthwise convolution whose taps are the patterns, one per group of channels.

    Its parameters are `weight [C, K]`, only the live taps, top to bottom, then left to right, and
    with `bias=True` also `bias [C]`. The channels are split among the patterns in their order.
    Input and output are `[B, C, H, W]`.
    """

    def __init__(
        self,
        channels: int,
        patterns: Sequence[Pattern],
        *,
        bias: bool = False,
        relu: bool = False,
        form: str = "native",
    ) -> None:
        """Make the layer.

        Args:
            channels: number of channels C, at least one per pattern.
            patterns: one per group of channels, all with the same number of taps K.
            bias: whether a bias per channel is added.
            relu: whether a ReLU follows.
            form: `native`, `dense` (a grouped 5x5 convolution, the same weights), `opti1` or
                `opti2` (CUDA kernels; on the CPU they run as native). It may be changed later.
        """
        super().__init__()
        if form not in FORMS:
            raise ValueError(
                f"unknown form '{form}' of a depthwise layer; known: {', '.join(FORMS)}"
            )
        self.channels = channels
        self.patterns = tuple(patterns)
        self.offsets = group_offsets(patterns)
        self.flat_offsets = flatten_offsets(self.offsets)
        self.group_sizes = group_sizes(channels, len(patterns))
        self.relu = relu
        self.form = form
        self.weight = nn.Parameter(torch.empty(channels, len(self.offsets[0])))
        self.bias = nn.Parameter(torch.empty(channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights as `nn.Conv2d` does, with the live taps as the fan-in."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Convolve `x [B, C, H, W]`."""
        if not (runs_native(x, self.weight) and self.form != "dense") and not self._runs_on_gpu(x):
            return reference.dense(x, self.weight, self.offsets, self.bias, relu=self.relu)
        groups = len(self.patterns)
        layer = DepthwiseLayer(
            self.weight, self.bias, self.flat_offsets, groups, self.relu, self.form
        )
        return run_operator(x, layer)

    def _runs_on_gpu(self, x: torch.Tensor) -> bool:
        """Whether one of the CUDA kernels was asked for and can run."""
        return (
            self.form in ("opti1", "opti2")
            and x.device.type == "cuda"
            and x.dtype == self.weight.dtype
            and x.dtype in (torch.float16, torch.float32)
            and max(x.shape[2:]) <= MAX_BOARD
            and not _in_onnx_export()
        )

    def dense_weight(self) -> torch.Tensor:
        """Return the weights of the equal grouped 5x5 convolution, `[C, 1, 5, 5]`."""
        index = reference.dense_index(self.channels, self.offsets, self.weight.device)
        return reference.dense_weight(self.weight, index)

    def extra_repr(self) -> str:
        """Describe the layer in `print(model)`."""
        names = ", ".join(pattern.name for pattern in self.patterns)
        return f"{self.channels}, [{names}], relu={self.relu}, form={self.form!r}"


def _uses_batch_statistics(norm: nn.BatchNorm2d) -> bool:
    return norm.training or norm.running_mean is None


def _update_running(
    norm: nn.BatchNorm2d, mean: torch.Tensor, var: torch.Tensor, count: int
) -> None:
    """Move the running statistics as `nn.BatchNorm2d` does: the variance is unbiased."""
    if not norm.training or norm.running_mean is None or norm.running_var is None:
        return
    with torch.no_grad():
        if norm.num_batches_tracked is not None:
            norm.num_batches_tracked.add_(1)
        if norm.momentum is None:
            if norm.num_batches_tracked is None:
                raise ValueError("a batch norm without momentum needs its count of batches")
            momentum = 1.0 / float(norm.num_batches_tracked)
        else:
            momentum = norm.momentum
        norm.running_mean.lerp_(mean, momentum)
        norm.running_var.lerp_(var * (count / (count - 1)), momentum)


def _count(x: torch.Tensor) -> int:
    return x.shape[0] * x.shape[2] * x.shape[3]


def norm_relu(x: torch.Tensor, norm: nn.BatchNorm2d, *, relu: bool = True) -> torch.Tensor:
    """Run `norm` and, if `relu`, a ReLU; in training on the CPU as one operator."""
    if not (_uses_batch_statistics(norm) and runs_native(x, norm.running_mean, norm.bias)):
        # Not norm(x): a subclass may have its ReLU in there.
        y: torch.Tensor = nn.BatchNorm2d.forward(norm, x)
        return functional.relu(y) if relu else y
    y, mean, var = fused.batch_norm_relu(x, norm.weight, norm.bias, norm.eps, relu)
    _update_running(norm, mean, var, _count(x))
    return y


def norm_depthwise_norm(
    x: torch.Tensor,
    norm_in: nn.BatchNorm2d | None,
    depthwise: "BoardDepthwise",
    norm_out: nn.BatchNorm2d,
) -> torch.Tensor:
    """Run `relu(norm_out(depthwise(relu(norm_in(x)))))`; in training on the CPU as one operator.

    Without `norm_in`, `x` goes to the convolution as it is. The depthwise layer must have neither
    bias nor ReLU: the batch norm behind it would undo the one and lose the other.
    """
    if depthwise.bias is not None or depthwise.relu:
        raise ValueError("a depthwise layer before a batch norm has neither bias nor ReLU")
    norms = [norm for norm in (norm_in, norm_out) if norm is not None]
    if (
        depthwise.form == "dense"
        or not runs_native(x, depthwise.weight, norm_out.running_mean, norm_out.bias)
        or not all(_uses_batch_statistics(norm) for norm in norms)
    ):
        if norm_in is not None:
            x = norm_relu(x, norm_in)
        return norm_relu(depthwise(x), norm_out)
    out: torch.Tensor
    out, _, mean_in, var_in, mean_out, var_out = fused.norm_depthwise_norm(
        x,
        None if norm_in is None else norm_in.weight,
        None if norm_in is None else norm_in.bias,
        depthwise.weight,
        norm_out.weight,
        norm_out.bias,
        depthwise.flat_offsets,
        len(depthwise.patterns),
        0.0 if norm_in is None else norm_in.eps,
        norm_out.eps,
        norm_in is not None,
    )
    if norm_in is not None:
        _update_running(norm_in, mean_in, var_in, _count(x))
    _update_running(norm_out, mean_out, var_out, _count(x))
    return out


class BatchNormReLU(nn.BatchNorm2d):
    """`nn.BatchNorm2d`, same parameters and buffers, with a ReLU behind it.

    With `gamma=False` it shifts only: before a ReLU and a convolution the scale is redundant.
    """

    def __init__(
        self,
        channels: int,
        *,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        gamma: bool = True,
        relu: bool = True,
    ) -> None:
        """Make the layer; `relu=False` leaves a plain batch norm."""
        super().__init__(channels, eps=eps, momentum=momentum)
        self.relu = relu
        if not gamma:
            self.register_parameter("weight", None)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalise `[B, C, H, W]`."""
        return norm_relu(input, self, relu=self.relu)
