"""Running a TensorRT engine on a GPU.

Positions wait in pinned memory; two slots, each with a stream and an execution context of its own,
let the copies of one batch run beside the computation of another. Written against the interface of
TensorRT 10 and 11; it has never been run, because there was no GPU.
"""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames.export.engine import (
    EngineInfo,
    Messages,
    load_module,
    load_plugin,
    make_logger,
    plugin_library,
)
from zerogames.export.names import INPUT_PLANES, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_WDL
from zerogames.nets.evaluation import Evaluation

SLOTS = 2


class EngineNet:
    """A net as an engine on the current GPU."""

    def __init__(self, engine: bytes, info: EngineInfo) -> None:
        trt = load_module(info.builder)
        if not torch.cuda.is_available():
            raise UserError("a TensorRT engine needs an NVIDIA GPU that torch can use")
        if info.plugin:
            load_plugin(trt, plugin_library())
        self._smallest, _, self._largest = info.batch
        self._messages = Messages()
        self._logger = make_logger(trt, self._messages)
        self._runtime = trt.Runtime(self._logger)
        self._engine = self._runtime.deserialize_cuda_engine(engine)
        if self._engine is None:
            reason = self._messages.errors[0] if self._messages.errors else "no reason given"
            raise UserError(f"the engine cannot be loaded here ({reason}); export the net again")
        self._slots = [_Slot(trt, self._engine, self._largest) for _ in range(SLOTS)]

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Evaluate planes `[B, P, H, W]`; a batch larger than the engine's is split."""
        spans = list(split_batch(len(planes), self._largest))
        parts: list[dict[str, NDArray[np.float32]]] = []
        for number, (first, last) in enumerate(spans):
            slot = self._slots[number % SLOTS]
            if number >= SLOTS:
                parts.append(slot.finish())
            slot.start(planes[first:last], padded=max(last - first, self._smallest))
        for number in range(len(parts), len(spans)):
            parts.append(self._slots[number % SLOTS].finish())
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return Evaluation(joined[OUTPUT_POLICY], joined[OUTPUT_WDL], joined.get(OUTPUT_MOVES_LEFT))


def split_batch(batch: int, largest: int) -> Iterator[tuple[int, int]]:
    """Yield first and last + 1 of each part of a batch, as even as possible; one part at least."""
    parts = max(1, -(-batch // largest))
    size, extra = divmod(batch, parts)
    first = 0
    for number in range(parts):
        last = first + size + (number < extra)
        yield first, last
        first = last


class _Slot:
    """A stream with its execution context and memory for the largest batch."""

    def __init__(self, trt: ModuleType, engine: Any, largest: int) -> None:
        self._context = engine.create_execution_context()
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._count = 0
        names = [engine.get_tensor_name(number) for number in range(engine.num_io_tensors)]
        self._outputs = [name for name in names if name != INPUT_PLANES]
        self._device: dict[str, torch.Tensor] = {}
        self._pinned: dict[str, torch.Tensor] = {}
        for name in names:
            if engine.get_tensor_dtype(name) != trt.float32:
                raise UserError(f"{name} of the engine is not float32; export the net again")
            shape = (largest, *tuple(engine.get_tensor_shape(name))[1:])
            self._device[name] = torch.empty(shape, device="cuda")
            self._pinned[name] = torch.empty(shape, pin_memory=True)
            self._context.set_tensor_address(name, self._device[name].data_ptr())

    def start(self, planes: NDArray[np.float32], *, padded: int) -> None:
        """Queue a batch; rows up to `padded` are computed and thrown away."""
        self._count = len(planes)
        pinned, device = self._pinned[INPUT_PLANES], self._device[INPUT_PLANES]
        pinned[: self._count].copy_(torch.from_numpy(planes))
        pinned[self._count : padded].zero_()
        self._context.set_input_shape(INPUT_PLANES, (padded, *planes.shape[1:]))
        with torch.cuda.stream(self._stream):
            device[:padded].copy_(pinned[:padded], non_blocking=True)
            if not self._context.execute_async_v3(self._stream.cuda_stream):
                raise RuntimeError("TensorRT could not start the engine")
            for name in self._outputs:
                self._pinned[name][: self._count].copy_(
                    self._device[name][: self._count], non_blocking=True
                )

    def finish(self) -> dict[str, NDArray[np.float32]]:
        """Wait for the batch and return copies of its outputs."""
        self._stream.synchronize()
        return {name: self._pinned[name][: self._count].numpy().copy() for name in self._outputs}
