"""The board-shaped depthwise convolution as a torch operator.

`board_depthwise` is a cross-correlation with zero padding and stride 1 whose taps are chosen per
group of channels. On the CPU it computes in float32, in the memory format of its input; boards may
be stored in bfloat16.
"""

from functools import lru_cache
from typing import Any

import torch
from torch.library import custom_op

from zerogames_kernels import _depthwise, reference
from zerogames_kernels.groups import Offsets, flatten_offsets, group_sizes
from zerogames_kernels.layer import DepthwiseLayer
from zerogames_kernels.pattern import RADIUS

_depthwise.use_types(torch.float32, torch.bfloat16, torch.channels_last)

CPU_TYPES = (torch.float32, torch.bfloat16)
"""Types in which boards may be stored on the CPU."""

MAX_BOARD = 25
"""Greatest number of rows and of columns that the kernels support."""

FORMS = ("native", "dense", "opti1", "opti2")
"""Ways to run the same weights; on the CPU all but `dense` are the native kernel."""


def board_depthwise(
    x: torch.Tensor,
    weight: torch.Tensor,
    offsets: Offsets,
    bias: torch.Tensor | None = None,
    *,
    relu: bool = False,
    form: str = "native",
) -> torch.Tensor:
    """Convolve every channel of `x [B, C, H, W]` with its own taps `weight [C, K]`.

    Args:
        x: float32 or bfloat16, contiguous or channels last (other layouts are copied first).
        weight: one row per channel, in the order of its group's offsets; float32.
        offsets: taps `(d_row, d_column)` of each group; the channels are split into adjacent groups
            as `group_sizes` says.
        bias: `[C]`, added to the sum.
        relu: whether negative sums become zero.
        form: which CUDA kernel runs, see `FORMS`.

    Returns:
        `[B, C, H, W]` in the type and memory format of `x`. Gradients of `x`, `weight` and `bias`
        are defined; second derivatives are not.
    """
    layer = DepthwiseLayer(weight, bias, flatten_offsets(offsets), len(offsets), relu, form)
    return run_operator(x, layer)


def dense_layout(x: torch.Tensor) -> torch.Tensor:
    """Return `x` itself if it is contiguous or channels last, else a contiguous copy."""
    if x.is_contiguous() or x.is_contiguous(memory_format=torch.channels_last):
        return x
    return x.contiguous()


def like_layout(tensor: torch.Tensor, model: torch.Tensor) -> torch.Tensor:
    """Bring `tensor` into the memory format of `model`."""
    if model.is_contiguous():
        return tensor.contiguous()
    return tensor.contiguous(memory_format=torch.channels_last)


@lru_cache(maxsize=256)
def _cached_plan(
    shape: tuple[int, int, int, int],
    channels_last: bool,
    bfloat16: bool,
    offsets: tuple[int, ...],
    groups: int,
) -> _depthwise.Plan:
    sizes = group_sizes(shape[1], groups)
    return _depthwise.Plan(shape, channels_last, bfloat16, sizes, offsets)


def make_plan(x: torch.Tensor, offsets: list[int], groups: int) -> _depthwise.Plan:
    """Return the (cached) tables of the kernels for tensors shaped like `x`."""
    batch, channels, height, width = x.shape
    shape = (batch, channels, height, width)
    bfloat16 = x.dtype == torch.bfloat16
    return _cached_plan(shape, not x.is_contiguous(), bfloat16, tuple(offsets), groups)


def check_board(x: torch.Tensor) -> None:
    """Refuse what the CPU kernels cannot run, saying what they need."""
    if x.dim() != 4:
        raise ValueError(f"a board tensor has shape [B, C, H, W], not {list(x.shape)}")
    if x.dtype not in CPU_TYPES:
        raise TypeError(
            f"the CPU kernels take float32 or bfloat16, not {x.dtype}; use form='dense'"
        )
    if not (1 <= x.shape[2] <= MAX_BOARD and 1 <= x.shape[3] <= MAX_BOARD):
        raise ValueError(
            f"a board has 1 to {MAX_BOARD} rows and columns, not {x.shape[2]}x{x.shape[3]}"
        )


def check_weight(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    offsets: list[int],
    groups: int,
) -> None:
    """Refuse weights that do not fit `x` and its groups."""
    taps = len(offsets) // (2 * groups)
    if weight.shape != (x.shape[1], taps):
        raise ValueError(
            f"weight has shape {list(weight.shape)}; "
            f"{x.shape[1]} channels with {taps} taps need [{x.shape[1]}, {taps}]"
        )
    check_vector("bias", bias, x)
    check_type("weight", weight, x)
    check_type("bias", bias, x)


def check_vector(name: str, vector: torch.Tensor | None, x: torch.Tensor) -> None:
    """Refuse a per-channel vector whose length is not the number of channels of `x`."""
    if vector is not None and vector.shape != (x.shape[1],):
        raise ValueError(
            f"{name} has shape {list(vector.shape)}; {x.shape[1]} channels need [{x.shape[1]}]"
        )


def check_type(name: str, parameter: torch.Tensor | None, x: torch.Tensor) -> None:
    """Refuse a parameter of another type than `x`, or than float32 beside bfloat16."""
    if parameter is None:
        return
    if x.dtype == torch.bfloat16:
        if parameter.dtype != torch.float32:
            raise TypeError(f"{name} is {parameter.dtype}; beside bfloat16 it must be float32")
    elif parameter.dtype != x.dtype:
        raise TypeError(f"{name} is {parameter.dtype}, the input is {x.dtype}; they must agree")


# Defined by its parts: under `custom_op` a call takes twice the time, and a net makes many.
torch.library.define(
    "zerogames::board_depthwise",
    "(Tensor x, Tensor weight, Tensor? bias, int[] offsets, int groups, bool relu, str form)"
    " -> Tensor",
    tags=torch.Tag.pt2_compliant_tag,
)


def run_operator(x: torch.Tensor, layer: DepthwiseLayer) -> torch.Tensor:
    """Call the operator; see `board_depthwise`."""
    output: torch.Tensor = torch.ops.zerogames.board_depthwise.default(x, *layer)
    return output


@torch.library.impl("zerogames::board_depthwise", "cpu")
def _(x: torch.Tensor, *parameters: Any) -> torch.Tensor:
    weight, bias, offsets, groups, relu, _ = DepthwiseLayer(*parameters)
    check_board(x)
    check_weight(x, weight, bias, offsets, groups)
    x, weight = dense_layout(x), weight.contiguous()
    bias = None if bias is None else bias.contiguous()
    y = torch.empty_like(x)
    make_plan(x, offsets, groups).depthwise_forward(
        x=x,
        weight=weight,
        bias=bias,
        relu=relu,
        y=y,
        threads=torch.get_num_threads(),
    )
    return y


@torch.library.register_fake("zerogames::board_depthwise")  # type: ignore[untyped-decorator]
def _(x: torch.Tensor, *parameters: Any) -> torch.Tensor:
    check_weight(x, *DepthwiseLayer(*parameters)[:4])
    return torch.empty_like(dense_layout(x))


@torch.library.impl("zerogames::board_depthwise", "cuda")
def _(x: torch.Tensor, *parameters: Any) -> torch.Tensor:
    from zerogames_kernels import cuda

    layer = DepthwiseLayer(*parameters)
    check_weight(x, *layer[:4])
    return like_layout(cuda.run(x, layer), dense_layout(x))


@custom_op("zerogames::board_depthwise_backward", mutates_args=(), device_types="cpu")
def _backward(
    grad: torch.Tensor,
    y: torch.Tensor | None,
    x: torch.Tensor,
    weight: torch.Tensor,
    offsets: list[int],
    groups: int,
    needs: list[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute the gradients of input, weight and bias; those not in `needs` are empty."""
    check_board(x)
    x, weight = dense_layout(x), weight.contiguous()
    grad = like_layout(grad, x)
    grads = _empty_grads(x, weight, needs)
    grad_x, grad_weight, grad_bias = (
        g if need else None for g, need in zip(grads, needs, strict=True)
    )
    make_plan(x, offsets, groups).depthwise_backward(
        grad=grad,
        y=y,
        x=x,
        weight=weight,
        grad_x=grad_x,
        grad_weight=grad_weight,
        grad_bias=grad_bias,
        threads=torch.get_num_threads(),
    )
    return grads


@_backward.register_kernel("cuda")
def _(*args: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Train on a GPU through the dense form, whose gradients torch has kernels for."""
    grad, y, x, weight, offsets, groups, needs = args
    return dense_gradients(grad, y, x, DepthwiseLayer(weight, None, offsets, groups), needs)


def dense_gradients(
    grad: torch.Tensor,
    y: torch.Tensor | None,
    x: torch.Tensor,
    layer: DepthwiseLayer,
    needs: list[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute the gradients by torch's grouped 5x5 convolution, on any device."""
    weight, _, offsets, groups, *_ = layer
    channels = x.shape[1]
    x = dense_layout(x)
    pairs = list(zip(offsets[::2], offsets[1::2], strict=True))
    taps = len(pairs) // groups
    index = reference.dense_index(
        channels, [pairs[i : i + taps] for i in range(0, len(pairs), taps)], x.device
    )
    if y is not None:
        grad = torch.where(y > 0, grad, 0)
    grads = torch.ops.aten.convolution_backward(
        like_layout(grad, x),
        x,
        reference.dense_weight(weight, index),
        [channels],
        [1, 1],
        [RADIUS, RADIUS],
        [1, 1],
        False,
        [0, 0],
        channels,
        needs,
    )
    grad_x, grad_weight, grad_bias = _empty_grads(x, weight.contiguous(), needs)
    return (
        like_layout(grads[0], x) if needs[0] else grad_x,
        grads[1].view(channels, -1).gather(1, index) if needs[1] else grad_weight,
        grads[2] if needs[2] else grad_bias,
    )


def _empty_grads(
    x: torch.Tensor, weight: torch.Tensor, needs: list[bool]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    nothing = (0,)
    return (
        torch.empty_like(x) if needs[0] else x.new_empty(nothing),
        torch.empty_like(weight) if needs[1] else weight.new_empty(nothing),
        weight.new_empty(x.shape[1] if needs[2] else 0),
    )


@_backward.register_fake
def _(*args: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    _, _, x, weight, _, _, needs = args
    return _empty_grads(dense_layout(x), weight.contiguous(), needs)


def _setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    x, weight, _, ctx.offsets, ctx.groups, relu, _ = inputs
    ctx.save_for_backward(x, weight, *([output] if relu else []))


def _autograd(ctx, grad):  # type: ignore[no-untyped-def]
    x, weight, *y = ctx.saved_tensors
    needs = list(ctx.needs_input_grad[:3])
    grads = _backward(grad, y[0] if y else None, x, weight, ctx.offsets, ctx.groups, needs)
    return (*(g if need else None for g, need in zip(grads, needs, strict=True)), *(None,) * 4)


torch.library.register_autograd(
    "zerogames::board_depthwise", _autograd, setup_context=_setup_context
)
