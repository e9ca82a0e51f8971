"""Collecting the nodes and constants of an ONNX graph under names that say where they belong."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper


@dataclass
class GraphBuilder:
    """Collects nodes and constants; values are known by their names."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    layer: str = ""
    """The layer that is being translated, e.g. `blocks.0.expand`; names begin with it."""
    _used: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def within(self, layer: str) -> Iterator[None]:
        """Name what is added inside after a layer of the net."""
        outer, self.layer = self.layer, layer
        try:
            yield
        finally:
            self.layer = outer

    def constant(self, array: NDArray[np.generic], name: str = "") -> str:
        """Add a constant tensor."""
        name = name or self._unused("constant")
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        name = self._unused(kind)
        output = output or name
        self.nodes.append(helper.make_node(kind, inputs, [output], name=name, **attributes))
        return output

    def numbers(self, *values: int) -> str:
        """A constant vector of integers."""
        return self.constant(np.array(values, np.int64))

    def _unused(self, word: str) -> str:
        name = f"{self.layer}/{word}"
        count = self._used[name] = self._used.get(name, 0) + 1
        return name if count == 1 else f"{name}_{count}"
