"""The evaluator `onnx`: onnxruntime, for any net on a CPU."""

from pathlib import Path

from zerogames.evaluate.evaluator import Capabilities
from zerogames.export.onnx_session import OnnxNet


class OnnxEvaluator(OnnxNet):
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
        super().__init__(model, threads=threads)
        self.version = version
        self.encoding = encoding
        self.capabilities = Capabilities(batch_size=64, threads=threads, precision=precision)
