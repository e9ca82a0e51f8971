"""The evaluator `torch`: any device, no export."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from zerogames.evaluate.evaluator import Capabilities
from zerogames.nets.evaluation import Evaluation
from zerogames.nets.folding import fold_norms
from zerogames.nets.model import Model


class TorchEvaluator:
    """Runs a model as it is. On a CPU torch's number of threads belongs to the whole process."""

    def __init__(self, model: Model, *, version: str, device: str = "cpu") -> None:
        self.version = version
        self.encoding = model.spec.encoding
        self.analyses = tuple(model.analyses)
        self._device = torch.device(device)
        self._model = fold_norms(model.eval()).to(self._device)
        on_cpu = self._device.type == "cpu"
        self.capabilities = Capabilities(
            batch_size=64 if on_cpu else 512,
            threads=torch.get_num_threads() if on_cpu else 1,
            device=device,
        )

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        """Evaluate planes `[B, P, H, W]`."""
        with torch.inference_mode():
            batch = torch.from_numpy(planes).to(self._device)
            policy, wdl, moves_left = self._model.evaluate(batch)
            return Evaluation(
                policy.cpu().numpy(),
                wdl.cpu().numpy(),
                None if moves_left is None else moves_left.cpu().numpy(),
            )

    def analyse(self, planes: NDArray[np.float32]) -> Mapping[str, NDArray[np.float32]]:
        """What the net says besides, by name."""
        with torch.inference_mode():
            found = self._model.analyse(torch.from_numpy(planes).to(self._device))
            return {name: tensor.cpu().numpy() for name, tensor in found.items()}
