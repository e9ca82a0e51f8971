"""Averages of weights over the steps: what plays is steadier than what learns."""

from collections.abc import Mapping

import torch
from torch import Tensor

from zerogames.nets import Model
from zerogames.train.settings import TrainerSettings


class WeightAverage:
    """A copy of a model's weights and batch-norm statistics that follows them slowly.

    Early on the average is short, min(decay, (1 + n) / (10 + n)) at update n, so that it is not
    held back by the random weights of the start.
    """

    def __init__(self, model: Model, settings: TrainerSettings) -> None:
        self._settings = settings
        # Everything a net file holds, as views of the model's own memory.
        self._sources = {name: tensor.detach() for name, tensor in model.state_dict().items()}
        self.tensors = {name: tensor.clone() for name, tensor in self._sources.items()}
        """The averaged tensors by their names in the model's state."""
        self.updates = 0

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Follow the model after step number `step`, counted from 1."""
        settings = self._settings
        if settings.averaging == "swa":
            if step % settings.swa_period:
                return
            decay = 1 - 1 / settings.swa_scale
            decay = min(decay, self.updates / (self.updates + 1))
        else:
            decay = min(settings.ema_decay, (1 + self.updates) / (10 + self.updates))
        averages, sources = list(self.tensors.values()), list(self._sources.values())
        torch._foreach_lerp_(averages, sources, 1 - decay)
        self.updates += 1

    def load(self, tensors: Mapping[str, Tensor], updates: int) -> None:
        """Take up an earlier average."""
        for name, tensor in self.tensors.items():
            tensor.copy_(tensors[name])
        self.updates = updates
