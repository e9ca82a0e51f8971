"""The evaluator `tensorrt`: an engine on an NVIDIA GPU."""

from zerogames.evaluate.evaluator import Capabilities
from zerogames.export.engine import EngineInfo
from zerogames.export.engine_run import EngineNet


class TensorRTEvaluator(EngineNet):
    """Runs an engine on the current GPU."""

    def __init__(self, engine: bytes, info: EngineInfo, *, version: str) -> None:
        super().__init__(engine, info)
        self.version = version
        self.encoding = info.net["encoding"]
        self.capabilities = Capabilities(
            batch_size=info.batch[1], threads=1, device="cuda", precision=info.net["precision"]
        )
