"""`zerogames export --format lc0`: weights for residual nets, ONNX inside for the others."""

import gzip
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from zerogames_chess.lc0 import import_lc0, read_lc0
from zerogames_chess.lc0.wire import Message

from zerogames.cli import main
from zerogames.export.parity import torch_answers
from zerogames.export.positions import random_positions
from zerogames.nets import build_model, load_net, save_net
from zerogames.registry import get_game

CHESS = get_game("chess")


def new_net(name: str, folder: Path) -> Path:
    """A net with moving statistics that do something."""
    model = build_model(CHESS.parse_net(name), CHESS, seed=2)
    generator = torch.Generator().manual_seed(1)
    for key, tensor in model.state_dict().items():
        if "running" in key:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    save_net(folder / "net.safetensors", model, step=123, data_licence="CC0")
    return folder / "net.safetensors"


def test_residual_nets_become_weights(tmp_path: Path) -> None:
    net = new_net("res_3x3_1x8+se2+conv+mlh", tmp_path)
    assert main(["export", str(net), "--format", "lc0", "--positions", "3"]) == 0
    out = tmp_path / "net.pb.gz"
    assert read_lc0(out).training_steps == 123
    assert read_lc0(out).licence == "CC0"
    assert import_lc0(out).spec.name == "res_3x3_1x8+se2+conv+mlh"


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("name", ["mob_krb_1x12+conv+mlh", "cnx_krb_1x12+attention+scalar"])
def test_other_nets_go_in_as_onnx(name: str, precision: str, tmp_path: Path) -> None:
    net = new_net(name, tmp_path)
    out = tmp_path / "out.pb.gz"
    arguments = ["export", str(net), "--format", "lc0", "--positions", "3"]
    assert main([*arguments, "--precision", precision, "--out", str(out)]) == 0
    message = Message(gzip.decompress(out.read_bytes()))
    assert message.integer(1) == 0x1C0
    assert [message.message(3).integer(i) for i in (1, 2, 3)] == [0, 28, 0]
    network = message.message(4).message(2)
    assert [network.integer(i) for i in range(1, 7)] == [1, 2, 5, 1, 2, int("mlh" in name)]
    assert message.message(5).integer(1) == 123
    inside = message.message(11)
    assert inside.integer(2) == 1
    names = [inside.text(number) for number in (6, 5, 7) if number in inside]

    # As lc0 runs it: the batch named "batch", outputs of two dimensions, all float32.
    session = onnxruntime.InferenceSession(bytes(inside.raw(1)))
    [planes_input] = session.get_inputs()
    assert planes_input.name == inside.text(3)
    assert planes_input.shape == ["batch", 112, 8, 8]
    assert {output.type for output in session.get_outputs()} == {"tensor(float)"}
    planes = random_positions(CHESS, "lc0-classic", 5)
    answers = session.run(names, {planes_input.name: planes})
    assert [answer.shape for answer in answers] == [(5, 1858), (5, 3), (5, 1)][: len(names)]
    right = torch_answers(load_net(net)[0], planes)
    tolerance = 0.02 if precision == "fp16" else 1e-4
    np.testing.assert_allclose(answers[0], right.policy_logits, atol=tolerance)
    np.testing.assert_allclose(answers[1], right.wdl, atol=tolerance)
    if right.moves_left is not None:
        np.testing.assert_allclose(answers[2][:, 0], right.moves_left, rtol=0.02, atol=tolerance)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["res_3x3_1x8", "--game", "connect4"], "Lc0's files hold chess nets"),
        (["res_3x3_1x8", "--game", "chess", "--precision", "fp16"], "have one precision"),
        (["res_3x3_1x8", "--game", "chess", "--out", "net.bin"], "is called .pb.gz"),
        (["mob_krb_1x12", "--game", "chess", "--plugin-op"], "not for lc0"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", *arguments, "--format", "lc0"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_maia_survives_the_round_trip(shared: Path, tmp_path: Path) -> None:
    maia = shared / "lc0" / "maia-1100.pb.gz"
    out = tmp_path / "again.pb.gz"
    assert main(["export", str(maia), "--format", "lc0", "--out", str(out)]) == 0
    planes = random_positions(CHESS, "lc0-classic", 8)
    once, twice = torch_answers(import_lc0(maia), planes), torch_answers(import_lc0(out), planes)
    assert np.array_equal(once.policy_logits.argmax(axis=1), twice.policy_logits.argmax(axis=1))
    np.testing.assert_allclose(twice.wdl, once.wdl, atol=2e-3)
