"""How large a net is: layers, parameters, arithmetic, memory, all from its program."""

from dataclasses import dataclass

from torch import nn

from zerogames.nets.model import Model
from zerogames.nets.program import Activation, Flatten, Layer, Weighted


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The figures of a net, for one position where that matters."""

    layers: tuple[Layer, ...]
    """Without activations and changes of shape."""
    trainable: int
    with_buffers: int
    """Trainable and moving statistics: Keras's total."""
    flops: int
    """Two for each multiply-add of convolutions, dense layers and attention."""
    weight_bytes: int
    inference_bytes: int
    """The largest input and output of one layer."""
    training_bytes: int
    """The memory of what the backward pass needs: every layer's output, and what a norm reads."""


def count_trainable(model: nn.Module) -> int:
    """Numbers that training changes."""
    return sum(parameter.numel() for parameter in model.parameters())


def count_with_buffers(model: nn.Module) -> int:
    """Everything a net file holds."""
    return sum(tensor.numel() for tensor in model.state_dict().values())


def summarize(model: Model) -> Summary:
    """Take the measure of a net."""
    layers = model.program().layers
    with_buffers = count_with_buffers(model)
    return Summary(
        layers=tuple(layer for layer in layers if not isinstance(layer, Activation | Flatten)),
        trainable=count_trainable(model),
        with_buffers=with_buffers,
        flops=2 * sum(layer.macs for layer in layers),
        weight_bytes=4 * with_buffers,
        inference_bytes=4 * max(_moved(layer) for layer in layers),
        training_bytes=4 * sum(_kept(layer) for layer in layers),
    )


def _moved(layer: Layer) -> int:
    return layer.output.size + sum(tensor.size for tensor in layer.inputs)


def _kept(layer: Layer) -> int:
    has_norm = isinstance(layer, Weighted) and layer.norm is not None
    return layer.output.size * (2 if has_norm else 1)
