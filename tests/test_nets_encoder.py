"""Encoder blocks and hybrids: names, what masks mean, and every reader of their programs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from zerogames.errors import UserError
from zerogames.evaluate.opening import open_evaluator
from zerogames.export.onnx_file import build_onnx
from zerogames.export.onnx_format import check_structure
from zerogames.export.onnx_session import OnnxNet
from zerogames.export.parity import TOLERANCES, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.game import Game
from zerogames.nets import block_kinds as kinds
from zerogames.nets import build_model, load_net, save_net
from zerogames.nets.block_kinds import BlockKind, StageSite, StageText
from zerogames.nets.board_relations import extended_patterns, offset_index, reach_map
from zerogames.nets.head_kinds import serves_any_board
from zerogames.nets.model import Model
from zerogames.nets.program import Tensor as Value
from zerogames.nets.program_writer import ProgramWriter
from zerogames.nets.spec import EncoderStage, KernelStage, NetSpec, Stage
from zerogames.registry import get_game

CHESS = get_game("chess")
NETS = [
    ("chess", "enc_none_pre_gelu_2x32h2"),
    ("chess", "enc_static_2x32+conv"),
    ("chess", "enc_mask_hard_offsets_1x32h4+attention"),
    ("chess", "enc_smolgen4.16.8mish_map_gates_relu2_2x32h4+mish+tokens4.16"),
    ("chess", "enc_smolgen4.16.8_dense3.20_gates_1x32h4d48f40+tokens4.32+mlh4.16+attention"),
    ("chess", "mob_krb_1x24-enc_mask_2x32h4+conv+mlh"),
    ("chess", "enc_none_free_1x16h2-res_3x3_1x16-mob_krb_1x24"),
    ("go:size=9", "mob_cdk_1x24-enc_mask_offsets_2x24h3+points+gap"),
    ("othello", "res_rng_1x16-enc_none_1x16h2-res_rng_1x16"),
]


def make(game: Game, name: str) -> Model:
    """A net whose norms and tables do something."""
    model = build_model(game.parse_net(name), game, seed=3).eval()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim in (1, 3):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3 + 0.5)
    return model


@pytest.mark.parametrize(("identity", "name"), NETS)
def test_torch_and_onnx_say_the_same_and_all_weights_learn(identity: str, name: str) -> None:
    game = get_game(identity)
    model = make(game, name)
    planes = random_positions(game, model.spec.encoding, 5)
    graph = build_onnx(model, game)
    check_structure(graph)
    right = torch_answers(model, planes)
    ours = OnnxNet(graph.SerializeToString()).evaluate(planes)
    compare(ours, right).check(TOLERANCES["fp32"])
    half = OnnxNet(build_onnx(model, game, half=True).SerializeToString()).evaluate(planes)
    compare(half, right).check(TOLERANCES["fp16"])
    output = model.train()(torch.from_numpy(planes))
    total = output.policy_logits.square().sum() + output.value_logits.square().sum()
    if model.moves_left is not None:
        total = total + model.moves_left(model.blocks(model.stem(torch.from_numpy(planes)))).sum()
    total.backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert [one for one in silent if not one.endswith("key.bias")] == []  # softmax forgets it


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_hybrid_runs_in_every_evaluator(precision: str, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, make(CHESS, "mob_krb_1x24-enc_mask_1x24h3+conv+gap"))
    planes = random_positions(CHESS, "lc0-classic", 4)
    right = torch_answers(load_net(path)[0], planes)
    for kind in ("native", "onnx") if precision == "int8" else ("native", "onnx", "torch"):
        ours = open_evaluator(CHESS, kind=kind, net=path, precision=precision).evaluate(planes)
        atol = 0.3 if precision == "int8" else 1e-4
        np.testing.assert_allclose(ours.policy_logits, right.policy_logits, atol=atol)
        np.testing.assert_allclose(ours.wdl, right.wdl, atol=0.05 if precision == "int8" else 1e-4)


@pytest.mark.parametrize("name", [NETS[7][1], "enc_none_offsets_1x16h2+points+gap"])
def test_go_nets_with_distances_serve_every_board(name: str) -> None:
    small, large = get_game("go:size=9"), get_game("go:size=13")
    model = make(small, name)
    assert serves_any_board(model.spec, small)
    other = build_model(large.parse_net(name), large).eval()
    other.load_state_dict(model.state_dict())
    planes = random_positions(large, model.spec.encoding, 3)
    right = torch_answers(other, planes)
    compare(torch_answers(model, planes), right).check(TOLERANCES["fp32"])
    ours = OnnxNet(build_onnx(model, large).SerializeToString()).evaluate(planes)
    compare(ours, right).check(TOLERANCES["fp32"])
    assert not serves_any_board(small.parse_net("enc_none_1x16h2+points+gap"), small)


def test_patterns_go_on_as_the_pieces_move() -> None:
    knight, rook, bishop, king = extended_patterns(tuple(CHESS.patterns.values()), (8, 8))
    for square in range(64):
        row, column = divmod(square, 8)
        rows, columns = (part.ravel() for part in np.indices((8, 8)))
        rows, columns = abs(rows - row), abs(columns - column)
        assert np.array_equal(rook[square], (rows == 0) | (columns == 0))
        assert np.array_equal(bishop[square], rows == columns)
        assert np.array_equal(knight[square], (rows * columns == 2) | (rows + columns == 0))
        assert np.array_equal(king[square], np.maximum(rows, columns) <= 1)
    reach = reach_map(tuple(CHESS.patterns.values()), (8, 8))
    assert [(reach == value).sum() for value in (-1, 1)] == [64, 1792]


def test_distances_are_told_apart() -> None:
    index = offset_index((5, 5), 18)
    assert index[0, 6] == index[6, 12] == index[18, 24]
    assert len(np.unique(index)) == 81
    assert len(np.unique(offset_index((25, 25), 18))) == 37**2


def test_a_hard_mask_hides_what_its_patterns_do_not_join() -> None:
    """With one block no square learns of one that no pattern joins with it."""
    model = make(CHESS, "enc_mask_hard_free_1x16h4")
    trunk = model.blocks(model.stem(torch.zeros(1, 112, 8, 8)))
    planes = torch.zeros(1, 112, 8, 8)
    planes[:, :, 0, 0] = 1
    changed = (model.blocks(model.stem(planes)) - trunk).abs().amax(dim=(0, 1)).flatten() > 1e-5
    joined = extended_patterns(tuple(CHESS.patterns.values()), (8, 8))[:, 0].any(axis=0)
    assert np.array_equal(changed.numpy(), joined)


def test_names_say_all_settings() -> None:
    spec = CHESS.parse_net("mob_krb_4x96-enc_mask_4x96h6")
    mobile, encoder = spec.stages
    assert isinstance(mobile, KernelStage)
    assert isinstance(encoder, EncoderStage)
    assert (mobile.blocks, mobile.channels, mobile.kernel) == (4, 96, "krb")
    assert (encoder.bias, encoder.heads, encoder.width, encoder.hidden) == ("mask", 6, 96, 192)
    full = CHESS.parse_net("enc_smolgen6.32.12mish_dense3.80_gates_relu2_3x64h4d48f96+tokens4.99")
    [encoder] = full.stages
    assert isinstance(encoder, EncoderStage)
    assert (encoder.smolgen, encoder.smolgen_function) == ((6, 32, 12), "mish")
    assert (encoder.positions, encoder.dense, encoder.gates) == ("dense", (3, 80), True)
    assert (encoder.function, encoder.width, encoder.hidden) == ("relu2", 48, 96)
    assert (full.value_head, full.value_sizes) == ("tokens", (4, 99))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("enc_maks_2x32", "unknown attention bias 'maks'; did you mean 'mask'"),
        ("enc_none_hard_2x32", "unknown setting of encoder blocks 'hard'"),
        ("enc_none_2x32h5", "32 channels do not divide among 5 heads"),
        ("enc_none_2x32h0", "do not divide among 0 heads"),
        ("enc_none_2x32k5", "'k' is no size of encoder blocks"),
        ("enc_smolgenx_2x32", "unknown activation of smolgen 'x'"),
        ("enc_smolgen0.1.1_2x32", "sizes of smolgen must be 1"),
        ("res_3x3_2x32h4", "is not a net name"),
        ("mob_krb_2x32-", "is not a net name"),
        ("mob_krb_2x32-enc_none_map_2x32", "are for encoders that read the input"),
        ("enc_none_2x32+x3", "only mob and cnx blocks expand, not enc"),
        ("mob_krb_2x32-enc_none_2x32+mish", "only res and enc blocks have the activation mish"),
        ("enc_none_2x32+gap+mlh4.4", "has no sizes of its own"),
        ("enc_none_256x4096", "more than 1,000,000,000 parameters"),
    ],
)
def test_a_malformed_name_is_told_what_is_wrong(name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        CHESS.parse_net(name)
    assert message in str(error.value)


def test_a_game_without_patterns_has_no_masks() -> None:
    with pytest.raises(UserError, match="othello has no patterns"):
        get_game("othello").parse_net("enc_mask_2x32")


class Doubling(nn.Module):
    """A third party's block: each number twice, and a dense layer over each token."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dense = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dense(2 * x.flatten(2).transpose(1, 2))
        return y.transpose(1, 2).reshape(x.shape)

    def layers(self, net: ProgramWriter, x: Value) -> Value:
        return net.planes(net.dense(net.tokens(net.add(x, x)), self.dense))


def read_doubling(text: StageText, game: Game) -> Stage:
    return Stage(block=text.block, blocks=text.blocks, channels=text.channels)


def make_doubling(site: StageSite) -> tuple[nn.Module | None, list[nn.Module]]:
    assert site.inputs == site.stage.channels
    return None, [Doubling(site.inputs) for _ in range(site.stage.blocks)]


DOUBLING = BlockKind(name="dbl", read=read_doubling, load=lambda: make_doubling)


def test_a_plugin_brings_a_block_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = kinds.plugin_of(CHESS)
    assert plugin is not None
    changed = replace(plugin, block_kinds=(DOUBLING,))
    monkeypatch.setattr(kinds, "plugin_of", lambda game: changed)
    spec: NetSpec = CHESS.parse_net("res_3x3_1x8-dbl_plain_2x8-mob_krb_1x8+conv")
    model = build_model(spec, CHESS, seed=1).eval()
    assert sum(isinstance(block, Doubling) for block in model.blocks) == 2
    planes = random_positions(CHESS, spec.encoding, 4)
    ours = OnnxNet(build_onnx(model, CHESS).SerializeToString()).evaluate(planes)
    compare(ours, torch_answers(model, planes)).check(TOLERANCES["fp32"])
    monkeypatch.undo()
    with pytest.raises(UserError, match="unknown block 'dbl'"):
        CHESS.parse_net("dbl_plain_2x8")
