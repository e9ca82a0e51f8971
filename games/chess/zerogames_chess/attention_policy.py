"""Lc0's attention policy: a head of chess alone, for nets with the option `+attention`."""

import numpy as np
import torch
from torch import Tensor, nn

from zerogames.game import Game
from zerogames.nets.heads import ActionGather, GraphWriter, PolicyHead
from zerogames.nets.spec import NetSpec

SQUARES = 64
SEVENTH, EIGHTH = slice(48, 56), slice(56, 64)
"""The squares of the last two ranks, in the mover's view."""


class AttentionPolicy(PolicyHead):
    """A logit for every pair of squares, and for promotions on the last rank.

    Its map indexes `from * 64 + to`, then 8 x 24 promotions by from-file, to-file and piece.
    """

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        channels = spec.channels
        self.embed = nn.Linear(channels, channels)
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels)
        self.promotion = nn.Linear(channels, 4, bias=False)
        self.gather = ActionGather(spec, game, "attention")

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        squares = self.activate(self.embed(trunk.flatten(2).transpose(1, 2)))  # [B, 64, C]
        query, key = self.query(squares), self.key(squares)
        pairs = query @ key.transpose(1, 2) * trunk.shape[1] ** -0.5  # [B, 64, 64]
        # The knight's promotion is the plain move; the others differ from it by to-file.
        offsets = self.promotion(key[:, EIGHTH])  # [B, 8, 4]
        offsets = offsets[:, :, :3] + offsets[:, :, 3:]
        plain = pairs[:, SEVENTH, EIGHTH, None]  # [B, from-file, to-file, 1]
        promotions = plain + offsets[:, None]  # [B, from-file, to-file, piece]
        logits = torch.cat([pairs.flatten(1), promotions.flatten(1)], dim=1)
        gathered: Tensor = self.gather(logits, trunk)
        return gathered

    @staticmethod
    def write_onnx(graph: GraphWriter, trunk: str) -> str:
        """Write the layers; the values have the shapes of `forward`."""
        numbers, op = graph.numbers, graph.op
        seventh, eighth = SEVENTH, EIGHTH
        squares = op("Reshape", trunk, numbers(0, graph.spec.channels, SQUARES))
        squares = op("Transpose", squares, perm=[0, 2, 1])
        squares = graph.activate(graph.token_dense(squares, "policy.embed"))
        query = graph.token_dense(squares, "policy.query")
        key = graph.token_dense(squares, "policy.key")
        pairs = op("MatMul", query, op("Transpose", key, perm=[0, 2, 1]))
        scale = graph.weights(np.array(graph.spec.channels**-0.5, np.float32))
        pairs = op("Mul", pairs, scale)
        last_rank = op("Slice", key, numbers(eighth.start), numbers(eighth.stop), numbers(1))
        offsets = graph.token_dense(last_rank, "policy.promotion")
        pieces = op("Slice", offsets, numbers(0), numbers(3), numbers(2))
        common = op("Slice", offsets, numbers(3), numbers(4), numbers(2))
        pieces = op("Unsqueeze", graph.add(pieces, common), numbers(1))
        starts, ends = numbers(seventh.start, eighth.start), numbers(seventh.stop, eighth.stop)
        plain = op("Slice", pairs, starts, ends, numbers(1, 2))
        promotions = graph.add(op("Unsqueeze", plain, numbers(3)), pieces)
        logits = op("Concat", graph.flatten(pairs), graph.flatten(promotions), axis=1)
        return graph.gather_actions(logits, trunk, "attention")
