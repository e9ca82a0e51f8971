"""How large a net is: layers, parameters, arithmetic, memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zerogames.nets.blocks import Stem
from zerogames.nets.layers import BatchNorm
from zerogames.nets.model import Model


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer as `zerogames info` prints it."""

    name: str
    kind: str
    shape: tuple[int, ...]
    """The shape of its output for one position."""
    parameters: int
    macs: int
    """Multiply-adds for one position."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The figures of a net, for one position where that matters."""

    layers: tuple[Layer, ...]
    trainable: int
    with_buffers: int
    """Trainable and moving statistics: Keras's total."""
    flops: int
    """Two for each multiply-add of convolutions and dense layers."""
    weight_bytes: int
    inference_bytes: int
    """The largest input and output of one layer."""
    training_bytes: int
    """The memory that the backward pass needs, in bytes."""


def count_trainable(model: nn.Module) -> int:
    """Numbers that training changes."""
    return sum(parameter.numel() for parameter in model.parameters())


def count_with_buffers(model: nn.Module) -> int:
    """Everything a net file holds."""
    return sum(tensor.numel() for tensor in model.state_dict().values())


def summarize(model: Model) -> Summary:
    """Run one position of zeros through the net and take its measure."""
    layers: list[Layer] = []
    moved = [0]
    handles = []
    for name, part in _leaves(model):

        def hook(
            part: nn.Module, inputs: tuple[Tensor, ...], output: Tensor, name: str = name
        ) -> None:
            moved.append(4 * (inputs[0].numel() + output.numel()))
            layers.append(
                Layer(
                    name=name,
                    kind=type(part).__name__,
                    shape=tuple(output.shape[1:]),
                    parameters=sum(p.numel() for p in part.parameters(recurse=False)),
                    macs=_macs(part, output),
                )
            )

        handles.append(part.register_forward_hook(hook))
    was_training = model.training
    saved: dict[int, int] = {}
    owned = {tensor.untyped_storage().data_ptr() for tensor in model.state_dict().values()}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in owned:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    try:
        model.eval()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            output = model(torch.zeros(1, *model.input_shape))
    finally:
        model.train(was_training)
        for handle in handles:
            handle.remove()
    del output
    return Summary(
        layers=tuple(layers),
        trainable=count_trainable(model),
        with_buffers=count_with_buffers(model),
        flops=2 * sum(layer.macs for layer in layers),
        weight_bytes=4 * count_with_buffers(model),
        inference_bytes=max(moved),
        training_bytes=sum(saved.values()),
    )


def _leaves(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for name, part in model.named_modules():
        if not list(part.children()) and not isinstance(
            part, (nn.Identity, nn.ReLU, nn.Mish, Stem)
        ):
            yield name, part


def _macs(part: nn.Module, output: Tensor) -> int:
    """Every weight of a layer is used once at each point of its output plane."""
    weight = getattr(part, "weight", None)
    if isinstance(part, BatchNorm) or not isinstance(weight, Tensor):
        return 0
    return weight.numel() * (output[0, 0].numel() if output.ndim == 4 else 1)
