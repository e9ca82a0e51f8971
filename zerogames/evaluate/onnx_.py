"""Evaluating with onnxruntime: any net on a CPU."""

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from zerogames.evaluate.evaluator import Capabilities, Evaluation
from zerogames.export.names import INPUT_PLANES, OUTPUT_MOVES_LEFT, OUTPUT_POLICY, OUTPUT_WDL


class OnnxEvaluator:
    """Runs an exported net in a session of its own with a fixed number of threads."""

    def __init__(
        self,
        model: Path | bytes,
        *,
        version: str,
        encoding: str,
        threads: int = 1,
        precision: str = "fp32",
    ) -> None:
        self.version = version
        self.encoding = encoding
        self.capabilities = Capabilities(batch_size=64, threads=threads, precision=precision)
        self._session = open_session(model if isinstance(model, bytes) else str(model), threads)
        self._outputs = output_names(self._session)

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Judge planes `[B, P, H, W]`."""
        policy, wdl, *rest = self._session.run(self._outputs, {INPUT_PLANES: planes})
        return Evaluation(policy, wdl, rest[0] if rest else None)


def open_session(model: str | bytes, threads: int) -> onnxruntime.InferenceSession:
    """A session on the CPU with so many threads of its own."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin between calls would steal the search's time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def output_names(session: onnxruntime.InferenceSession) -> list[str]:
    """What an evaluation asks for: policy, win-draw-loss and, if there are, moves left."""
    names = [output.name for output in session.get_outputs()]
    optional = [OUTPUT_MOVES_LEFT] if OUTPUT_MOVES_LEFT in names else []
    return [OUTPUT_POLICY, OUTPUT_WDL, *optional]
