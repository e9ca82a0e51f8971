"""Lc0's attention policy: a head of chess alone, for nets with the option `+attention`."""

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zerogames.game import Game
from zerogames.nets.blocks.enc import EncoderBlock, to_tokens
from zerogames.nets.heads import ActionGather, PolicyHead
from zerogames.nets.layers import ACTIVATIONS
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import EncoderStage, NetSpec
from zerogames_chess.attention_sizes import AttentionSizes

SQUARES = 64
SEVENTH, EIGHTH = slice(48, 56), slice(56, 64)
"""The squares of the last two ranks, in the mover's view."""


class AttentionPolicy(PolicyHead):
    """A logit for every pair of squares, and for promotions on the last rank.

    Its map indexes `from * 64 + to`, then 8 x 24 promotions by from-file, to-file and piece.
    """

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        sizes = self.sizes = AttentionSizes.of_spec(spec)
        ffn: str = self.function
        if sizes.is_selu:
            ffn = self.function = "selu"
            self.activate = ACTIVATIONS["selu"]
        elif isinstance(spec.stages[-1], EncoderStage):
            ffn = spec.stages[-1].function or ffn
        self.embed = nn.Linear(spec.channels, sizes.embedding)
        stage = EncoderStage(
            block="enc",
            blocks=sizes.encoders,
            channels=sizes.embedding,
            heads=sizes.heads,
            width=sizes.width,
            hidden=sizes.hidden,
            function=ffn,
        )
        self.encoders = nn.Sequential(
            *(EncoderBlock(stage, ffn, scale=1) for _ in range(sizes.encoders))
        )
        self.query = nn.Linear(sizes.embedding, sizes.queries)
        self.key = nn.Linear(sizes.embedding, sizes.queries)
        self.promotion = nn.Linear(sizes.queries, 4, bias=False)
        self.gather = ActionGather(spec, game, "attention")

    def forward(self, trunk: Tensor) -> Tensor:
        """Logits `[B, A]`."""
        squares = self.activate(self.embed(to_tokens(trunk)))  # [B, 64, P]
        for encoder in self.encoders:
            squares = cast(EncoderBlock, encoder).transform(squares, (8, 8))
        query, key = self.query(squares), self.key(squares)
        pairs = query @ key.transpose(1, 2) * self.sizes.queries**-0.5  # [B, 64, 64]
        # The knight's promotion is the plain move; the others differ from it by to-file.
        offsets = self.promotion(key[:, EIGHTH])  # [B, 8, 4]
        offsets = offsets[:, :, :3] + offsets[:, :, 3:]
        plain = pairs[:, SEVENTH, EIGHTH, None]  # [B, from-file, to-file, 1]
        promotions = plain + offsets[:, None]  # [B, from-file, to-file, piece]
        logits = torch.cat([pairs.flatten(1), promotions.flatten(1)], dim=1)
        gathered: Tensor = self.gather(logits, trunk)
        return gathered

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        """The same as a program; the tensors have the shapes of `forward`."""

        def numbers(*values: int) -> NDArray[np.int64]:
            return np.array(values, np.int64)

        seventh, eighth, op = SEVENTH, EIGHTH, net.op
        squares = net.activate(net.dense(net.tokens(trunk), self.embed), self.function)
        for encoder in self.encoders:
            assert isinstance(encoder, EncoderBlock)
            with net.within(encoder):
                squares = encoder.token_layers(net, squares)
        query, key = net.dense(squares, self.query), net.dense(squares, self.key)
        channels = self.sizes.queries
        turned = op("Transpose", key, shape=(channels, SQUARES), perm=[0, 2, 1])
        pairs = op("MatMul", query, turned, shape=(SQUARES, SQUARES))
        scale = np.array(channels**-0.5, np.float32)
        pairs = op("Mul", pairs, scale, shape=pairs.shape)
        ends = numbers(eighth.start), numbers(eighth.stop)
        last_rank = op("Slice", key, *ends, numbers(1), shape=(8, channels))
        offsets = net.dense(last_rank, self.promotion)
        pieces = op("Slice", offsets, numbers(0), numbers(3), numbers(2), shape=(8, 3))
        common = op("Slice", offsets, numbers(3), numbers(4), numbers(2), shape=(8, 1))
        pieces = op("Unsqueeze", net.add(pieces, common), numbers(1), shape=(1, 8, 3))
        starts, stops = numbers(seventh.start, eighth.start), numbers(seventh.stop, eighth.stop)
        plain = op("Slice", pairs, starts, stops, numbers(1, 2), shape=(8, 8))
        plain = op("Unsqueeze", plain, numbers(3), shape=(8, 8, 1))
        promotions = op("Add", plain, pieces, shape=(8, 8, 3))
        flat = net.flatten(pairs), net.flatten(promotions)
        logits = op("Concat", *flat, shape=(flat[0].size + flat[1].size,), axis=1)
        return self.gather.layers(net, logits, trunk)
