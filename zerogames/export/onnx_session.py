"""Running ONNX models of nets with onnxruntime."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from zerogames.errors import UserError
from zerogames.export.names import INPUT_PLANES, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_WDL
from zerogames.nets.evaluation import Evaluation


class OnnxNet:
    """An exported net in a session of its own with a fixed number of CPU threads."""

    def __init__(self, model: Path | bytes, *, threads: int = 1) -> None:
        with refuse_damage("the model" if isinstance(model, bytes) else model):
            self._session = open_session(model if isinstance(model, bytes) else str(model), threads)
        names = [output.name for output in self._session.get_outputs()]
        optional = [OUTPUT_MOVES_LEFT] if OUTPUT_MOVES_LEFT in names else []
        self._outputs = [OUTPUT_POLICY, OUTPUT_WDL, *optional]
        further = [name for name in names if name not in self._outputs]
        self._further = further
        self.analyses = tuple(map(analysis_name, further))
        """The names of the net's further outputs."""

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Evaluate planes `[B, P, H, W]`."""
        policy, wdl, *rest = self._session.run(self._outputs, {INPUT_PLANES: planes})
        return Evaluation(policy, wdl, rest[0] if rest else None)

    def analyse(self, planes: NDArray[np.float32]) -> Mapping[str, NDArray[np.float32]]:
        """The net's further outputs by name."""
        if not self._further:
            return {}
        found = self._session.run(self._further, {INPUT_PLANES: planes})
        return dict(zip(self.analyses, found, strict=True))


def analysis_name(output: str) -> str:
    """The name of an output in `Model.analyse`."""
    return output.rpartition("/")[2]


@contextmanager
def refuse_damage(source: str | Path) -> Iterator[None]:
    """Make one line of whatever a file of layers makes its readers raise.

    onnx, protobuf, onnxruntime and our kernels have many classes of errors, and each of them means
    that the file is not what an export wrote.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{source} is damaged ({reason:.200}); remove it") from None


def open_session(model: str | bytes, threads: int) -> onnxruntime.InferenceSession:
    """Open a session on the CPU with this number of threads of its own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin between calls would steal the search's time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
