"""Targets of a net from a batch of samples."""

import torch

from zerogames.data.ends import split_columns
from zerogames.data.sample import SampleBatch
from zerogames.game import Game
from zerogames.nets import Targets


def make_targets(
    batch: SampleBatch,
    search_value_share: float = 0.0,
    device: torch.device | str = "cpu",
    *,
    game: Game | None = None,
) -> Targets:
    """Targets of a batch; the value mixes the game's result with what the search saw.

    With `game` they include what the batch knows of games' ends.
    """
    value = torch.from_numpy(batch.result)
    if search_value_share:
        value = torch.lerp(value, torch.from_numpy(batch.search), search_value_share)
    ends = {} if game is None else split_columns(game, batch.ends)
    return Targets(
        policy=torch.from_numpy(batch.policy).to(device),
        value=value.to(device),
        moves_left=torch.from_numpy(batch.moves_left).to(device),
        legal=torch.from_numpy(batch.legal).to(device),
        weights=torch.from_numpy(batch.weights).to(device),
        ends={name: torch.from_numpy(part).to(device) for name, part in ends.items()},
        ends_known=torch.from_numpy(batch.ends_known).to(device),
    )
