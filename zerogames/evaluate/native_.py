"""The evaluator `native`: the trunk in our own kernels, the ends of the heads in onnxruntime."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from zerogames_kernels.trunks import float_trunk

from zerogames.evaluate.evaluator import Capabilities
from zerogames.export.names import INPUT_PLANES, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_WDL
from zerogames.export.native_file import NativeHeader, read_native
from zerogames.export.onnx_session import analysis_name, open_session, refuse_damage
from zerogames.nets.evaluation import Evaluation

Floats = NDArray[np.float32]
Excitation = tuple[Floats, Floats, Floats, Floats]


class PendingTrunk(Protocol):
    """A batch that is being computed."""

    def finish(self) -> None:
        """Compute with the other threads until the outputs are complete."""


class NativeTrunk(Protocol):
    """The compiled trunks, float32 and int8."""

    @property
    def output_shapes(self) -> list[tuple[int, ...]]:
        """The shape of each output without the batch."""

    def start(self, planes: Floats, outs: list[Floats], *, threads: int = 1) -> PendingTrunk:
        """Begin to compute the outputs, `[B, ...]` each, of planes `[B, P, H, W]`."""


class SplitNet(NamedTuple):
    """A net in two parts."""

    trunk: NativeTrunk
    names: Sequence[str]
    """The names of the trunk's outputs in the model of the heads."""
    heads: bytes
    """An ONNX model whose inputs are the trunk's outputs."""


class NativeEvaluator:
    """Runs a trunk natively and what is left of the heads in onnxruntime."""

    def __init__(
        self,
        net: SplitNet,
        *,
        version: str,
        encoding: str,
        threads: int = 1,
        precision: str = "fp32",
    ) -> None:
        trunk, names, heads = net
        self.version = version
        self.encoding = encoding
        self.capabilities = Capabilities(batch_size=64, threads=threads, precision=precision)
        self._trunk = trunk
        self._names = [*names, INPUT_PLANES]
        self._session = open_session(heads, threads)
        self._inputs = [value.name for value in self._session.get_inputs()]
        results = [value.name for value in self._session.get_outputs()]
        known = (OUTPUT_POLICY, OUTPUT_WDL, OUTPUT_MOVES_LEFT)
        self._results = [name for name in results if name in known]
        self._further = [name for name in results if name not in known]
        self.analyses = tuple(map(analysis_name, self._further))
        """The names of the net's further outputs."""

    def evaluate(self, planes: Floats) -> Evaluation:
        """Evaluate planes `[B, P, H, W]`."""
        return self.start(planes)()

    def analyse(self, planes: Floats) -> Mapping[str, Floats]:
        """The net's further outputs by name."""
        found = self._start(planes, self._further)()
        return {analysis_name(name): found[name] for name in self._further}

    def start(self, planes: Floats) -> Callable[[], Evaluation]:
        """Begin to evaluate planes, which must not change until the returned function is called."""
        values = self._start(planes, self._results)

        def finish() -> Evaluation:
            found = values()
            return Evaluation(found[OUTPUT_POLICY], found[OUTPUT_WDL], found.get(OUTPUT_MOVES_LEFT))

        return finish

    def _start(self, planes: Floats, results: Sequence[str]) -> Callable[[], dict[str, Floats]]:
        shapes = self._trunk.output_shapes
        outs = [np.empty((len(planes), *shape), np.float32) for shape in shapes]
        pending = self._trunk.start(planes, outs, threads=self.capabilities.threads)

        def finish() -> dict[str, Floats]:
            pending.finish()
            values: dict[str, Floats] = dict(zip(self._names, [*outs, planes], strict=True))
            inputs = {name: values[name] for name in self._inputs}
            if results:
                values |= zip(results, self._session.run(results, inputs), strict=True)
            return values

        return finish


def open_native(path: Path, *, version: str, encoding: str, threads: int = 1) -> NativeEvaluator:
    """Open a file of `zerogames.export.native_file`."""
    with refuse_damage(path):
        header, tensors = read_native(path)
        trunk = _build_trunk(header, tensors)
        net = SplitNet(trunk, header["outputs"], tensors["heads"].tobytes())
        return NativeEvaluator(net, version=version, encoding=encoding, threads=threads)


def _build_trunk(header: NativeHeader, tensors: Mapping[str, Floats]) -> float_trunk.Trunk:
    def layer(name: str) -> tuple[Floats, Floats]:
        return tensors[f"{name}.weight"], tensors[f"{name}.bias"]

    def part(name: str) -> tuple[Floats, ...] | None:
        found = [key for key in (f"{name}.{index}" for index in range(4)) if key in tensors]
        return tuple(tensors[key] for key in found) or None

    trunk = float_trunk.Trunk(*header["board"], *layer("stem"), header["stem_relu"])
    for number, relu in enumerate(header["block_relus"]):
        name = f"blocks.{number}"
        before, weight = part(f"{name}.before"), tensors.get(f"{name}.board.weight")
        if before is not None:
            bias = None if weight is None else (weight, float(tensors[f"{name}.board.factor"][0]))
            trunk.add_normed_block(
                before=cast("tuple[Floats, Floats]", before),
                first=layer(f"{name}.first"),
                last=layer(f"{name}.last"),
                bias=bias,
            )
            continue
        trunk.add_block(
            first=layer(f"{name}.first"),
            last=layer(f"{name}.last"),
            excitation=cast("Excitation | None", part(f"{name}.excitation")),
            relu=relu,
            norm=cast("tuple[Floats, Floats] | None", part(f"{name}.norm")),
        )
    tip = part("tip")
    if tip is not None:
        trunk.set_tip(cast("tuple[Floats, Floats]", tip))
    for number, (relus, dense) in enumerate(
        zip(header["output_relus"], header["dense_relus"], strict=True)
    ):
        name = f"outputs.{number}"
        trunk.add_output(
            [(*layer(f"{name}.{index}"), relu) for index, relu in enumerate(relus)],
            cast("NDArray[np.int64] | None", tensors.get(f"{name}.chosen")),
            [(*layer(f"{name}.dense.{index}"), relu) for index, relu in enumerate(dense)],
        )
    return trunk
