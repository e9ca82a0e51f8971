"""Leela Zero's policy head."""

from torch import nn

from zerogames.game import Game
from zerogames.nets.blocks.parts import make_norm
from zerogames.nets.heads import DensePolicy, PolicyHead
from zerogames.nets.layers import pointwise
from zerogames.nets.spec import NetSpec

CHANNELS = 2


class LeelaZeroPolicy(DensePolicy):
    """1x1 to two channels, then one dense layer to all actions, the pass with them."""

    def __init__(self, spec: NetSpec, game: Game) -> None:
        PolicyHead.__init__(self, spec, game)
        self.conv = pointwise(spec.channels, CHANNELS)
        self.norm = make_norm(spec, CHANNELS)
        self.dense = nn.Linear(CHANNELS * self.cells, game.spec.action_size)
