"""Chess nets: every published size, and what chess adds to the general names."""

from pathlib import Path

import numpy as np
import pytest
import torch
from zerogames_chess.published import PUBLISHED

from zerogames import get_game
from zerogames.cli import main
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.onnx_file import export_onnx
from zerogames.nets import Model, build_model
from zerogames.nets.published import PublishedNet
from zerogames.nets.summary import count_trainable


def make(identity: str, name: str) -> Model:
    game = get_game(identity)
    with torch.device("meta"):  # counting needs no memory
        return build_model(game.parse_net(name), game)


@pytest.mark.parametrize("net", PUBLISHED.nets, ids=lambda net: net.net)
def test_every_published_count_of_chess(net: PublishedNet) -> None:
    model = make("chess", net.net)
    assert abs(PUBLISHED.count(model) - net.parameters) <= net.tolerance


def test_all_rows_of_the_table_are_there() -> None:
    assert get_game("chess").published_nets == (PUBLISHED,)
    assert len(PUBLISHED.nets) == 24


# By hand from the recipes of the papers: a policy of 2048 x 1858, a scalar value of 2048 x 128.
HEADS = 2048 * 1858 + 1858 + 2048 * 128 + 128 + 128 + 1


@pytest.mark.parametrize(("kernel", "taps"), [("5x5", 25), ("krb", 9), ("3x3", 9), ("rng", 9)])
@pytest.mark.parametrize(("blocks", "channels"), [(6, 96), (18, 96), (6, 192)])
def test_true_counts_of_chess_nets(kernel: str, taps: int, blocks: int, channels: int) -> None:
    c = channels
    heads = HEADS + 2 * (32 * c + 32)
    squeeze = c * c // 2 + c // 2 + c // 2 * 2 * c + 2 * c
    mobile = 112 * c + heads + blocks * (12 * c * c + 6 * c * taps + 14 * c + squeeze)
    assert count_trainable(make("chess", f"mob_{kernel}_{blocks}x{c}+scalar")) == mobile
    window = 9 if kernel == "3x3" else 25
    residual = 112 * c * window + 2 * c + heads + blocks * (2 * taps * c * c + 3 * c + squeeze)
    assert count_trainable(make("chess", f"res_{kernel}_{blocks}x{c}+scalar")) == residual
    convnext = 112 * c + heads + blocks * (8 * c * c + taps * c + 5 * c + 2 * c)
    assert count_trainable(make("chess", f"cnx_{kernel}_{blocks}x{c}+scalar")) == convnext


def test_other_heads_add_what_they_should() -> None:
    scalar = count_trainable(make("chess", "mob_krb_6x96+scalar"))
    assert count_trainable(make("chess", "mob_krb_6x96")) == scalar + 258
    moves_left = 8 * 96 + 8 + 65_664 + 129
    assert count_trainable(make("chess", "mob_krb_6x96+mlh")) == scalar + 258 + moves_left
    trunk = scalar - (2048 * 1858 + 1858 + 32 * 96 + 32)
    conv = 9 * 96 * 96 + 96 + 9 * 96 * 80 + 80
    assert count_trainable(make("chess", "mob_krb_6x96+conv+scalar")) == trunk + conv


def test_papers_command_prints_the_chess_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--papers"]) == 0
    assert "4.865443" in capsys.readouterr().out


def test_chess_scales_the_rule_50_counter() -> None:
    game = get_game("chess")
    spec = game.parse_net("mob_krb_1x12")
    assert spec.input_scale == ((109, 1 / 99),)
    assert "plies" in game.encodings["lc0-classic"].planes[109]


@pytest.mark.parametrize("kernel", ["krb", "rbk", "rb", "krb_opti1", "krb_opti2"])
def test_chess_nets_speak_of_1858_moves(kernel: str) -> None:
    game = get_game("chess")
    planes = torch.from_numpy(game.initial_state().observe("lc0-classic"))[None]
    for heads in ("", "+conv+scalar", "+attention+mlh"):
        model = build_model(game.parse_net(f"mob_{kernel}_1x12{heads}"), game).eval()
        logits, wdl, _ = model.evaluate(planes)
        assert logits.shape == (1, 1858)
        assert wdl.sum().item() == pytest.approx(1)


def test_conv_and_attention_logits_belong_to_their_moves() -> None:
    """A plane or pair made large lifts exactly the moves it stands for."""
    game = get_game("chess")
    state = game.initial_state()
    e2e4, b1c3 = game.parse_action(state, "e2e4"), game.parse_action(state, "b1c3")
    conv = game.heads.policy_maps["conv"].index
    assert conv[e2e4] == (0 * 7 + 1) * 64 + 12  # north by two from e2
    assert conv[b1c3] == 56 * 64 + 1  # the first knight's step from b1
    attention = game.heads.policy_maps["attention"].index
    assert attention[e2e4] == 12 * 64 + 28
    assert attention[1792] == 64 * 64  # a7a8q
    assert len(set(attention.tolist())) == 1858


@pytest.mark.parametrize("name", ["res_krb_1x12+attention", "mob_rbk_1x12+conv+mlh"])
def test_chess_heads_export_to_onnx(name: str, tmp_path: Path) -> None:
    game = get_game("chess")
    model = build_model(game.parse_net(name), game, seed=4).eval()
    export_onnx(model, game, tmp_path / "net.onnx")
    evaluator = OnnxEvaluator(tmp_path / "net.onnx", version="x", encoding=model.spec.encoding)
    planes = game.initial_state().observe("lc0-classic")[None]
    with torch.inference_mode():
        policy, wdl, _ = model.evaluate(torch.from_numpy(planes))
    answer = evaluator.evaluate(planes)
    np.testing.assert_allclose(answer.policy_logits, policy.numpy(), rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(answer.wdl, wdl.numpy(), atol=1e-5)
