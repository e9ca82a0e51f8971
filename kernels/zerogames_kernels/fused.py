"""Training operators that walk through memory as few times as they can.

On the expanded channels of a MobileNet block, batch norm and ReLU cost more than the depthwise
convolution between them: each is a walk through memory. Here the convolution normalises its input
while reading it and sums the moments of its output while writing it, and the backward pass
computes the normalised input again instead of keeping it.

Boards are float32 or bfloat16, results and gradients of the same type; everything else is float32.

All operators use the statistics of the batch and return them; `zerogames_kernels.modules` keeps
the running ones.
"""

import torch
from torch.library import custom_op

from zerogames_kernels import _depthwise
from zerogames_kernels.depthwise import (
    check_board,
    check_type,
    check_vector,
    check_weight,
    dense_layout,
    like_layout,
    make_plan,
)

Vector = torch.Tensor | None


class _Norm:
    """Batch norm with the statistics of a batch, as the vectors `[C]` the kernels take."""

    def __init__(
        self, mean: torch.Tensor, var: torch.Tensor, gamma: Vector, beta: Vector, eps: float
    ):
        self.mean = mean
        self.inverse = torch.rsqrt(var + eps)
        self.scale = self.inverse if gamma is None else self.inverse * gamma
        self.shift = -mean * self.scale
        if beta is not None:
            self.shift = self.shift + beta

    def gradients(self, sums: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the gradients of gamma and beta; set what the input's gradient needs.

        With `g` the gradient behind the ReLU, `sums [C, 2]` are those of `g` and of
        `g * (x - mean)`. The input's gradient is `scale * g + slope * (x - mean) + offset`.
        """
        total, product = sums.unbind(1)
        self.slope = -self.scale * self.inverse.square() * product / count
        self.offset = -self.scale * total / count
        return product * self.inverse, total.clone()


def _element_plan(x: torch.Tensor) -> _depthwise.Plan:
    return make_plan(x, [], 1)


def _statistics(x: torch.Tensor, *shape: int) -> torch.Tensor:
    return x.new_empty(shape, dtype=torch.float32)


def _count(x: torch.Tensor) -> int:
    return x.shape[0] * x.shape[2] * x.shape[3]


def _check(x: torch.Tensor, *vectors: Vector) -> None:
    check_board(x)
    for vector in vectors:
        check_vector("a batch norm's parameter", vector, x)
        check_type("a batch norm's parameter", vector, x)
    if _count(x) < 2:
        raise ValueError("batch norm needs more than one value per channel in training")


def _moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean, var = _statistics(x, x.shape[1]), _statistics(x, x.shape[1])
    _element_plan(x).moments(x=x, mean=mean, variance=var, threads=torch.get_num_threads())
    return mean, var


def _normalise(x: torch.Tensor, norm: _Norm, relu: bool) -> torch.Tensor:
    y = torch.empty_like(x)
    _element_plan(x).normalise(
        x=x,
        scale=norm.scale,
        shift=norm.shift,
        relu=relu,
        y=y,
        threads=torch.get_num_threads(),
    )
    return y


def _gradient_sums(grad: torch.Tensor, x: torch.Tensor, norm: _Norm, relu: bool) -> torch.Tensor:
    sums = _statistics(x, x.shape[1], 2)
    _element_plan(x).gradient_sums(
        grad=grad,
        x=x,
        scale=norm.scale,
        shift=norm.shift,
        relu=relu,
        mean=norm.mean,
        sums=sums,
        threads=torch.get_num_threads(),
    )
    return sums


def _gradient_apply(
    grad: torch.Tensor, x: torch.Tensor, norm: _Norm, relu: bool, out: torch.Tensor
) -> None:
    _element_plan(x).gradient_apply(
        grad=grad,
        x=x,
        scale=norm.scale,
        shift=norm.shift,
        relu=relu,
        a=norm.scale,
        b=norm.slope,
        d=norm.offset,
        mean=norm.mean,
        grad_x=out,
        threads=torch.get_num_threads(),
    )


@custom_op("zerogames::batch_norm_relu", mutates_args=(), device_types="cpu")
def batch_norm_relu(
    x: torch.Tensor, gamma: Vector, beta: Vector, eps: float, relu: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Normalise `x [B, C, H, W]` by its own statistics, then ReLU if `relu`.

    Returns:
        The result, the mean and the biased variance `[C]` (these two have no gradient).
    """
    _check(x, gamma, beta)
    x = dense_layout(x)
    mean, var = _moments(x)
    return _normalise(x, _Norm(mean, var, gamma, beta, eps), relu), mean, var


@batch_norm_relu.register_fake
def _(
    x: torch.Tensor, gamma: Vector, beta: Vector, eps: float, relu: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x = dense_layout(x)
    return torch.empty_like(x), _statistics(x, x.shape[1]), _statistics(x, x.shape[1])


@custom_op("zerogames::batch_norm_relu_backward", mutates_args=(), device_types="cpu")
def _batch_norm_relu_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    gamma: Vector,
    beta: Vector,
    mean: torch.Tensor,
    var: torch.Tensor,
    eps: float,
    relu: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x = dense_layout(x)
    grad = like_layout(grad, x)
    norm = _Norm(mean, var, gamma, beta, eps)
    grad_gamma, grad_beta = norm.gradients(_gradient_sums(grad, x, norm, relu), _count(x))
    grad_x = torch.empty_like(x)
    _gradient_apply(grad, x, norm, relu, grad_x)
    return grad_x, grad_gamma, grad_beta


@_batch_norm_relu_backward.register_fake
def _(
    grad: torch.Tensor,
    x: torch.Tensor,
    gamma: Vector,
    beta: Vector,
    mean: torch.Tensor,
    var: torch.Tensor,
    eps: float,
    relu: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.empty_like(dense_layout(x)), torch.empty_like(mean), torch.empty_like(mean)


def _setup_norm(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    x, gamma, beta, ctx.eps, ctx.relu = inputs
    _, mean, var = output
    ctx.mark_non_differentiable(mean, var)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, gamma, beta, mean, var)


def _autograd_norm(ctx, grad, _mean, _var):  # type: ignore[no-untyped-def]
    if grad is None:
        return (None,) * 5
    grads = _batch_norm_relu_backward(grad, *ctx.saved_tensors, ctx.eps, ctx.relu)
    kept = (g if need else None for g, need in zip(grads, ctx.needs_input_grad, strict=False))
    return (*kept, None, None)


batch_norm_relu.register_autograd(_autograd_norm, setup_context=_setup_norm)


@custom_op("zerogames::norm_depthwise_norm", mutates_args=(), device_types="cpu")
def norm_depthwise_norm(
    x: torch.Tensor,
    gamma1: Vector,
    beta1: Vector,
    weight: torch.Tensor,
    gamma2: Vector,
    beta2: Vector,
    offsets: list[int],
    groups: int,
    eps1: float,
    eps2: float,
    norm_input: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Batch norm, ReLU, depthwise convolution, batch norm, ReLU: the middle of a MobileNet block.

    Without `norm_input` the first batch norm and ReLU are left out. Memory: the result and the
    convolution's output are made; the normalised input never is.

    Returns:
        The result, the convolution's output, and mean and biased variance `[C]` of both norms
        (empty for a norm that is left out). Only the result has a gradient.
    """
    _check(x, gamma1, beta1, gamma2, beta2)
    check_weight(x, weight, None, offsets, groups)
    x, weight = dense_layout(x), weight.contiguous()
    nothing = _statistics(x, 0)
    mean1, var1 = _moments(x) if norm_input else (nothing, nothing.clone())
    norm1 = _Norm(mean1, var1, gamma1, beta1, eps1) if norm_input else None
    y = torch.empty_like(x)
    mean2, var2 = _statistics(x, x.shape[1]), _statistics(x, x.shape[1])
    make_plan(x, offsets, groups).depthwise_forward(
        x=x,
        input_scale=norm1.scale if norm1 else None,
        input_shift=norm1.shift if norm1 else None,
        weight=weight,
        y=y,
        mean=mean2,
        variance=var2,
        threads=torch.get_num_threads(),
    )
    out = _normalise(y, _Norm(mean2, var2, gamma2, beta2, eps2), True)
    return out, y, mean1, var1, mean2, var2


@norm_depthwise_norm.register_fake
def _(
    x: torch.Tensor,
    gamma1: Vector,
    beta1: Vector,
    weight: torch.Tensor,
    gamma2: Vector,
    beta2: Vector,
    offsets: list[int],
    groups: int,
    eps1: float,
    eps2: float,
    norm_input: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    x = dense_layout(x)
    channels = x.shape[1]
    first = channels if norm_input else 0
    return (
        torch.empty_like(x),
        torch.empty_like(x),
        _statistics(x, first),
        _statistics(x, first),
        _statistics(x, channels),
        _statistics(x, channels),
    )


@custom_op("zerogames::norm_depthwise_norm_backward", mutates_args=(), device_types="cpu")
def _norm_depthwise_norm_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    gamma1: Vector,
    beta1: Vector,
    weight: torch.Tensor,
    gamma2: Vector,
    beta2: Vector,
    y: torch.Tensor,
    mean1: torch.Tensor,
    var1: torch.Tensor,
    mean2: torch.Tensor,
    var2: torch.Tensor,
    offsets: list[int],
    groups: int,
    eps1: float,
    eps2: float,
    norm_input: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of the first six inputs of `norm_depthwise_norm`."""
    x, weight = dense_layout(x), weight.contiguous()
    grad = like_layout(grad, x)
    norm2 = _Norm(mean2, var2, gamma2, beta2, eps2)
    grad_gamma2, grad_beta2 = norm2.gradients(_gradient_sums(grad, y, norm2, True), _count(x))
    norm1 = _Norm(mean1, var1, gamma1, beta1, eps1) if norm_input else None
    grad_x, grad_weight = torch.empty_like(x), torch.empty_like(weight)
    sums1 = _statistics(x, x.shape[1], 2) if norm_input else None
    make_plan(x, offsets, groups).depthwise_backward(
        grad=grad,
        y=y,
        output_scale=norm2.scale,
        output_shift=norm2.shift,
        a=norm2.scale,
        b=norm2.slope,
        d=norm2.offset,
        y_mean=mean2,
        x=x,
        input_scale=norm1.scale if norm1 else None,
        input_shift=norm1.shift if norm1 else None,
        x_mean=mean1 if norm1 else None,
        weight=weight,
        grad_x=grad_x,
        grad_weight=grad_weight,
        input_sums=sums1,
        threads=torch.get_num_threads(),
    )
    if norm1 is None or sums1 is None:
        nothing = _statistics(x, 0)
        return grad_x, nothing, nothing.clone(), grad_weight, grad_gamma2, grad_beta2
    grad_gamma1, grad_beta1 = norm1.gradients(sums1, _count(x))
    _gradient_apply(grad_x, x, norm1, False, grad_x)
    return grad_x, grad_gamma1, grad_beta1, grad_weight, grad_gamma2, grad_beta2


@_norm_depthwise_norm_backward.register_fake
def _(
    grad: torch.Tensor,
    x: torch.Tensor,
    gamma1: Vector,
    beta1: Vector,
    weight: torch.Tensor,
    gamma2: Vector,
    beta2: Vector,
    y: torch.Tensor,
    mean1: torch.Tensor,
    var1: torch.Tensor,
    mean2: torch.Tensor,
    var2: torch.Tensor,
    offsets: list[int],
    groups: int,
    eps1: float,
    eps2: float,
    norm_input: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    x = dense_layout(x)
    return (
        torch.empty_like(x),
        torch.empty_like(mean1),
        torch.empty_like(mean1),
        torch.empty_like(weight.contiguous()),
        torch.empty_like(mean2),
        torch.empty_like(mean2),
    )


def _setup_depthwise(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
    *tensors, ctx.offsets, ctx.groups, ctx.eps1, ctx.eps2, ctx.norm_input = inputs
    _, *kept = output
    ctx.mark_non_differentiable(*kept)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors, *kept)


def _autograd_depthwise(ctx, grad, *_):  # type: ignore[no-untyped-def]
    if grad is None:
        return (None,) * 11
    grads = _norm_depthwise_norm_backward(
        grad, *ctx.saved_tensors, ctx.offsets, ctx.groups, ctx.eps1, ctx.eps2, ctx.norm_input
    )
    kept = (g if need else None for g, need in zip(grads, ctx.needs_input_grad, strict=False))
    return (*kept, *(None,) * 5)


norm_depthwise_norm.register_autograd(_autograd_depthwise, setup_context=_setup_depthwise)
