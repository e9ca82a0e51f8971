"""From a batch of samples to what a net should say."""

import torch

from zerogames.data.sample import SampleBatch
from zerogames.nets import Targets


def make_targets(
    batch: SampleBatch, search_value_share: float = 0.0, device: torch.device | str = "cpu"
) -> Targets:
    """Targets of a batch; the value mixes the game's result with what the search saw."""
    value = torch.from_numpy(batch.result)
    if search_value_share:
        value = torch.lerp(value, torch.from_numpy(batch.search), search_value_share)
    return Targets(
        policy=torch.from_numpy(batch.policy).to(device),
        value=value.to(device),
        moves_left=torch.from_numpy(batch.moves_left).to(device),
        legal=torch.from_numpy(batch.legal).to(device),
        weights=torch.from_numpy(batch.weights).to(device),
    )
