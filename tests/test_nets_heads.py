"""A plugin can bring a policy head of its own: a torch module that writes its layers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from zerogames_classics.othello import Othello, OthelloOptions

from zerogames import UserError
from zerogames.export.onnx_file import build_onnx
from zerogames.export.onnx_session import OnnxNet
from zerogames.export.parity import TOLERANCES, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.game import Game, PolicyKind
from zerogames.nets import build_model
from zerogames.nets.head_kinds import serves_any_board
from zerogames.nets.heads import ActionGather, PolicyHead
from zerogames.nets.layers import pointwise
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import NetSpec


class SquaredPolicy(PolicyHead):
    """The square of one plane."""

    def __init__(self, spec: NetSpec, game: Game) -> None:
        super().__init__(spec, game)
        self.conv = pointwise(spec.channels, 1)
        self.gather = ActionGather(spec, game)

    def forward(self, trunk: Tensor) -> Tensor:
        logits: Tensor = self.gather(self.conv(trunk).square(), trunk)
        return logits

    def layers(self, net: ProgramWriter, trunk: Value) -> Value:
        plane = net.conv(trunk, self.conv)
        return self.gather.layers(net, net.op("Mul", plane, plane, shape=plane.shape), trunk)


def test_a_head_of_a_plugin_is_built_and_exported() -> None:
    game = Othello(OthelloOptions(size=6))
    kind = PolicyKind(name="squared", load=lambda: SquaredPolicy, any_board=True)
    game.heads = replace(game.heads, policy=(*game.heads.policy, "squared"), kinds=(kind,))
    spec = game.parse_net("res_3x3_1x8+squared+gap")
    assert serves_any_board(spec, game)
    model = build_model(spec, game, seed=2).eval()
    assert isinstance(model.policy, SquaredPolicy)
    planes = random_positions(game, spec.encoding, 5)
    ours = OnnxNet(build_onnx(model, game).SerializeToString()).evaluate(planes)
    right = torch_answers(model, planes)
    compare(ours, right).check(TOLERANCES["fp32"])
    with torch.no_grad():
        cells = model.policy.conv(model.blocks(model.stem(torch.from_numpy(planes)))).square()
    np.testing.assert_allclose(right.policy_logits[:, :36], cells.flatten(1).numpy(), rtol=1e-5)


def test_heads_of_one_game_are_unknown_to_others() -> None:
    with pytest.raises(UserError, match="unknown net option 'squared'"):
        Othello(OthelloOptions(size=6)).parse_net("res_3x3_1x8+squared")
    with pytest.raises(UserError, match="unknown net option 'attention'"):
        Othello(OthelloOptions(size=6)).parse_net("res_3x3_1x8+attention")
