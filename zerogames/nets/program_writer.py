"""Writing a program from the torch modules of a net.

A block or a head is a torch module with a method `layers(net, x)`: it hands its parts to the writer
in the order in which `forward` uses them, and returns what it computes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from zerogames_kernels.modules import BoardDepthwise

from zerogames.nets import program as p
from zerogames.nets.layers import BatchNorm, SqueezeExcitation
from zerogames.nets.program import Array, Program, Tensor

LayerType = TypeVar("LayerType", bound=p.Layer)


class Part(Protocol):
    """A block or a head."""

    def layers(self, net: "ProgramWriter", x: Tensor) -> Tensor:
        """Write the layers; returns the output."""


class ProgramWriter:
    """Collects layers; each method adds one and returns what it computes."""

    def __init__(self, name: str, model: nn.Module, shape: tuple[int, int, int]) -> None:
        self.program = Program(name, Tensor("planes", shape))
        self._names = {id(module): name for name, module in model.named_modules()}
        self._part = self._scope = "input"
        self._used: dict[str, int] = {}

    @contextmanager
    def within(self, module: nn.Module | str) -> Iterator[None]:
        """Name what is added inside after a module of the net."""
        outer = self._part, self._scope
        self._scope = module if isinstance(module, str) else self._names[id(module)]
        self._part = self._scope.partition(".")[0]
        try:
            yield
        finally:
            self._part, self._scope = outer

    def write(self, part: nn.Module, x: Tensor) -> Tensor:
        """Write the layers of a block or a head, or of several blocks in a row."""
        if isinstance(part, nn.Sequential) and not hasattr(part, "layers"):
            for one in part:
                x = self.write(one, x)
            return x
        with self.within(part):
            return cast(Part, part).layers(self, x)

    def conv(self, x: Tensor, module: nn.Module, norm: nn.Module | None = None) -> Tensor:
        """A convolution, full or of patterns, with the batch norm behind it if there is one."""
        weight = array(cast(torch.Tensor, module.weight))
        patterns = () if isinstance(module, nn.Conv2d) else cast(Any, module).patterns
        groups = 1
        if isinstance(module, BoardDepthwise):
            weight, groups = weight[:, None], len(weight)
        elif isinstance(module, nn.Conv2d):
            groups = module.groups
        return self._add(
            p.Convolution,
            (x,),
            (len(weight), *x.shape[1:]),
            module,
            weight=weight,
            bias=optional_array(getattr(module, "bias", None)),
            norm=self.batch_norm(norm) if isinstance(norm, BatchNorm) else None,
            patterns=tuple(patterns),
            groups=groups,
        )

    def conv_with_numbers(self, x: Tensor, module: nn.Conv2d, numbers: nn.Linear) -> Tensor:
        """A convolution of the first planes, and a dense layer of those that are constant."""
        planes, told = array(module.weight), array(numbers.weight)
        size = planes.shape[2]
        wide = np.zeros((*told.shape, size, size), np.float32)
        wide[:, :, size // 2, size // 2] = told
        return self._add(
            p.StemConvolution,
            (x,),
            (len(planes), *x.shape[1:]),
            module,
            weight=np.concatenate([planes, wide], axis=1),
            bias=optional_array(module.bias),
            numbers=told.shape[1],
        )

    def dense(self, x: Tensor, module: nn.Module) -> Tensor:
        """A dense layer over the last axis."""
        assert isinstance(module, nn.Linear)
        weight, bias = array(module.weight), optional_array(module.bias)
        shape = (*x.shape[:-1], len(weight))
        return self._add(p.Dense, (x,), shape, module, weight=weight, bias=bias)

    def norm(self, x: Tensor, module: nn.Module) -> Tensor:
        """A batch norm of planes on its own, or a layer norm."""
        if isinstance(module, BatchNorm):
            return self._add(p.BatchNorm, (x,), x.shape, module, norm=self.batch_norm(module))
        assert isinstance(module, nn.LayerNorm)
        scale, shift = array(module.weight), array(module.bias)
        more = {"scale": scale, "shift": shift, "epsilon": module.eps}
        return self._add(p.LayerNorm, (x,), x.shape, module, **more)

    def activate(self, x: Tensor, function: str) -> Tensor:
        """A function of each number, by its name in `zerogames.nets.layers.ACTIVATIONS`."""
        if function == "none":
            return x
        return self._add(p.Activation, (x,), x.shape, function=function)

    def excite(self, x: Tensor, module: nn.Module) -> Tensor:
        """Squeeze-and-excitation; an identity leaves it out."""
        if not isinstance(module, SqueezeExcitation):
            return x
        parts = {
            "squeeze": (array(module.squeeze.weight), array(module.squeeze.bias)),
            "excite": (array(module.excite.weight), array(module.excite.bias)),
        }
        return self._add(
            p.SqueezeExcitation, (x,), x.shape, module, function=module.function, **parts
        )

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum; `y` may have fewer axes."""
        return self._add(p.Sum, (x, y), x.shape)

    def pool(self, x: Tensor) -> Tensor:
        """The average over the board."""
        return self._add(p.Pooling, (x,), x.shape[:1])

    def flatten(self, x: Tensor) -> Tensor:
        """All numbers in a row."""
        return self._add(p.Flatten, (x,), (x.size,))

    def tokens(self, x: Tensor) -> Tensor:
        """A token for each point of planes."""
        made = self.program.layers[-1] if self.program.layers else None
        if isinstance(made, p.Planes) and made.output is x:
            return made.inputs[0]  # `finish` drops what nobody reads
        channels, height, width = x.shape
        return self._add(p.Tokens, (x,), (height * width, channels))

    def planes(self, x: Tensor) -> Tensor:
        """Planes of the board from tokens."""
        return self._add(p.Planes, (x,), (x.shape[1], *self.program.board))

    def reshape(self, x: Tensor, *shape: int) -> Tensor:
        """The same numbers in another shape; one of its lengths may be -1."""
        known = prod(length for length in shape if length > 0)
        shape = tuple(x.size // known if length < 0 else length for length in shape)
        return self.op("Reshape", x, np.array([0, *shape], np.int64), shape=shape)

    def gather(self, x: Tensor, index: NDArray[np.int64]) -> Tensor:
        """Some of the numbers `[n]`."""
        return self._add(p.Gather, (x,), index.shape, index=index)

    def attention(
        self, heads: int, query: Tensor, key: Tensor, value: Tensor, *bias: Tensor
    ) -> Tensor:
        """Attention of `heads` heads; what is in `bias` is added to their logits."""
        return self._add(p.Attention, (query, key, value, *bias), value.shape, heads=heads)

    def weights(
        self, parameter: torch.Tensor, name: str, *, trainable: int | None = None
    ) -> Tensor:
        """Learnt numbers that are no layer's, or made from so many `trainable` ones."""
        value = array(parameter)
        with self.within(f"{self._scope}.{name}"):
            return self._add(p.Weights, (), value.shape, value=value, trainable=trainable)

    def op(
        self,
        operator: str,
        *operands: "Tensor | NDArray[np.generic]",
        shape: tuple[int, ...],
        **attributes: Any,
    ) -> Tensor:
        """Any operator of ONNX with one output; operands are tensors or constants.

        Args:
            operator: ONNX's name, e.g. `MatMul`. Its axes count the batch as axis 0.
            operands: As ONNX orders them.
            shape: Of the output, without the batch.
            attributes: ONNX's.
        """
        inputs = tuple(one for one in operands if isinstance(one, Tensor))
        constants = {i: one for i, one in enumerate(operands) if not isinstance(one, Tensor)}
        return self._add(
            p.Operator,
            inputs,
            shape,
            operator=operator,
            constants=constants,
            attributes=attributes,
        )

    def append(
        self, layer: type[LayerType], *inputs: Tensor, shape: tuple[int, ...], **fields: Any
    ) -> Tensor:
        """A layer of any type."""
        return self._add(layer, inputs, shape, **fields)

    def batch_norm(self, module: BatchNorm) -> p.Norm:
        """What a batch norm holds."""
        assert module.running_mean is not None
        assert module.running_var is not None
        return p.Norm(
            name=self._names[id(module)],
            mean=array(module.running_mean),
            variance=array(module.running_var),
            scale=optional_array(module.weight),
            shift=array(module.bias),
            epsilon=module.eps,
        )

    def finish(self, outputs: dict[str, Tensor]) -> Program:
        """The whole program, without layers whose results nobody reads."""
        read, layers = {id(tensor) for tensor in outputs.values()}, []
        for layer in reversed(self.program.layers):
            if id(layer.output) in read:
                read.update(id(tensor) for tensor in layer.inputs)
                layers.append(layer)
        self.program.layers[:] = reversed(layers)
        self.program.outputs = outputs
        return self.program

    def _add(
        self,
        layer: type[LayerType],
        inputs: tuple[Tensor, ...],
        shape: tuple[int, ...],
        module: nn.Module | None = None,
        **fields: Any,
    ) -> Tensor:
        name = self._scope
        if module is not None:
            name = self._names[id(module)]
            uses = self._used[name] = self._used.get(name, 0) + 1
            name = name if uses == 1 else f"{name}_{uses}"
        text = f"{name}/{fields.get('operator', layer.__name__)}"
        count = self._used[text] = self._used.get(text, 0) + 1
        output = Tensor(text if count == 1 else f"{text}_{count}", shape)
        self.program.layers.append(
            layer(name=name, part=self._part, inputs=inputs, output=output, **fields)
        )
        return output


def array(tensor: torch.Tensor) -> Array:
    """The numbers of a tensor; for one without memory (`meta`) zeros that take none either."""
    if tensor.is_meta:
        return np.broadcast_to(np.float32(0), tuple(tensor.shape))
    return cast(Array, tensor.detach().cpu().float().numpy())


def optional_array(tensor: torch.Tensor | None) -> Array | None:
    """The numbers of a tensor that may be missing."""
    return None if tensor is None else array(tensor)
