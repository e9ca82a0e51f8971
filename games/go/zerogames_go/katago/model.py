"""A net of KataGo as one of our models."""

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zerogames.game import Game
from zerogames.nets import program as layers
from zerogames.nets.model import Model, Output
from zerogames.nets.program import Program
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import NetSpec
from zerogames_go.katago.blocks import Stem, Tip, make_blocks
from zerogames_go.katago.heads import KataGoPolicy, KataGoValue
from zerogames_go.katago.layout import parse_layout
from zerogames_go.katago.network import NUMBERS, PLANES

KO_PLANE = PLANES + 6
"""The plane that is one unless only simple kos are forbidden: then no game is without result."""
IMPOSSIBLE = 1e4
"""Taken from the logit of what cannot be."""


class KataGoModel(Model):
    """Planes of `katago-v7` to an `Output`; "no result" takes the place of a draw."""

    value: KataGoValue
    analyses = ("ownership", "score", "lead")

    def __init__(self, spec: NetSpec, game: Game) -> None:
        nn.Module.__init__(self)
        self.spec, self.patterns = spec, ()
        self.input_shape = game.encodings[spec.encoding.partition(":")[0]].shape
        self.register_buffer("input_scale", None)
        layout = parse_layout(spec.layout)
        self.stem = Stem(PLANES, NUMBERS, layout.channels, layout.window)
        self.blocks = make_blocks(layout.blocks, layout.channels)
        self.tip = Tip(layout.tip, layout.channels)
        self.policy = KataGoPolicy(layout.policy, layout.channels)
        self.value = KataGoValue(layout)
        self.moves_left = None
        self.ends = nn.ModuleDict()

    def forward(self, planes: Tensor) -> Output:
        """Evaluate positions; what it says of the end of the game is always there."""
        trunk = self.tip(self.blocks(self.stem(planes)))
        raw, scores, owners = self.value(trunk)
        if not self.training:  # draws of games may be learnt there
            impossible = planes[:, KO_PLANE, 0, 0] * IMPOSSIBLE
            raw = raw - F.pad(impossible[:, None], (1, 1))
        score, lead = self.value.score(scores, torch.softmax(raw, dim=1)[:, 1])
        # Twice the logit: an owner is a tanh, not a sigmoid.
        ends = {"ownership": 2 * owners, "score": score[:, None], "lead": lead[:, None]}
        return Output(self.policy(trunk), raw, None, ends)

    def analyse(self, planes: Tensor) -> Mapping[str, Tensor]:
        """See `Model.analyse`: the owners `[B, H * W]` from -1 to 1, score and lead `[B]`."""
        ends = self(planes).ends or {}
        return {
            "ownership": torch.tanh(ends["ownership"] / 2),
            "score": ends["score"][:, 0],
            "lead": ends["lead"][:, 0],
        }

    def program(self, game: Game | None = None) -> Program:
        """The net as a program of layers."""
        spec, shape = self.spec, self.input_shape
        if game is not None:
            shape = game.encodings[spec.encoding.partition(":")[0]].shape
        net = ProgramWriter(spec.name, self, shape)
        planes = net.program.planes
        trunk = net.write(self.tip, net.write(self.blocks, net.write(self.stem, planes)))
        outputs = {"policy": net.write(self.policy, trunk)}
        with net.within("value"):
            raw, scores, owners = self.value.raw_layers(net, trunk)
            raw = net.add(raw, _impossible(net, planes))
            given = {"value": "wdl", "first_player_plane": None}
            outputs["wdl"] = net.append(layers.WinDrawLoss, raw, shape=(3,), **given)
            chances = net.op("Softmax", raw, shape=(3,), axis=1)
            score, lead = self.value.score_layers(net, scores, chances)
            outputs |= {"ownership": net.activate(owners, "tanh"), "score": score, "lead": lead}
        return net.finish(outputs)


def _impossible(net: ProgramWriter, planes: Value) -> Value:
    """`[3]`: what the ko rule takes from the logit of no result."""
    ends = np.array([KO_PLANE, 0, 0]), np.array([KO_PLANE + 1, 1, 1])
    cell = net.op("Slice", planes, *ends, np.array([1, 2, 3]), shape=(1, 1, 1))
    taken = np.array([0, -IMPOSSIBLE, 0], np.float32)
    return net.op("Mul", net.flatten(cell), taken, shape=(3,))
