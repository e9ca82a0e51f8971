"""Nets in int8 agree with their float32 form, are kept, and refuse what they cannot be made of."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from zerogames_kernels.trunks import int8

import zerogames
from zerogames.evaluate import open_evaluator
from zerogames.evaluate.int8_ import open_int8, split_trunk
from zerogames.evaluate.native_ import NativeEvaluator
from zerogames.export.agreement import evaluate_all, measure_agreement
from zerogames.export.cache import NetFile, int8_form, int8_path
from zerogames.export.calibration import play_positions, read_positions
from zerogames.export.formats import find_format
from zerogames.export.int8 import quantize_net
from zerogames.export.onnx_file import build_onnx
from zerogames.export.qdq import Quantizer, find_layers
from zerogames.export.request import ExportRequest
from zerogames.export.rounding import channel_scales, round_plainly, round_with_inputs
from zerogames.nets import Model, build_model, load_net, save_net


def trained_looking(identity: str, name: str) -> Model:
    """Batch norms and biases that do something, and a policy that prefers some moves."""
    game = zerogames.get_game(identity)
    model = build_model(game.parse_net(name), game, seed=3)
    generator = torch.Generator().manual_seed(1)
    for key, tensor in model.state_dict().items():
        if "running_var" in key:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif "norm" in key or key.endswith("bias") or "stem.1" in key:
            tensor.copy_(torch.randn(tensor.shape, generator=generator) / 4 + ("weight" in key))
        elif key in ("policy.dense.weight", "policy.conv2.weight", "policy.conv.weight"):
            tensor.mul_(4)
    return model.eval()


@pytest.fixture(autouse=True)
def few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zerogames.export.int8.CALIBRATION_POSITIONS", 96)
    monkeypatch.setattr("zerogames.export.int8.HELD_OUT_POSITIONS", 48)


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save_net(tmp_path / "net.safetensors", trained_looking("connect4", "res_3x3_1x16"))
    return tmp_path / "net.safetensors"


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("connect4", "res_3x3_1x16"),
        ("othello:size=6", "cnx_5x5_1x16"),
        ("othello:size=6", "res_rng_1x16+conv"),
        ("go:size=9", "mobile.conv.avg.bin.1.16.48"),
        ("go:size=9", "a0.1.16"),
        ("chess", "mob_krb_1x24+se4"),
    ],
)
def test_every_kind_of_net_and_board_agrees(
    identity: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    game = zerogames.get_game(identity)
    save_net(tmp_path / "net.safetensors", trained_looking(identity, name))
    right = open_evaluator(game, net=tmp_path / "net.safetensors")
    ours = open_evaluator(game, net=tmp_path / "net.safetensors", precision="int8")
    assert ours.capabilities.precision == "int8"
    assert ours.version != right.version
    positions = play_positions(game, right.encoding, right.evaluate, 64, seed=9)
    slow = evaluate_all(right.evaluate, positions.planes)
    net = tmp_path / "net.safetensors"
    path = int8_form(NetFile.find(net), game)
    for native in (False, True):
        evaluator = open_int8(path, version="", encoding=right.encoding, threads=2, native=native)
        assert isinstance(evaluator, NativeEvaluator) == (native and not name.startswith("cnx"))
        fast = evaluate_all(evaluator.evaluate, positions.planes)
        agreement = measure_agreement(fast, slow, positions)
        assert agreement.top1 >= 0.9
        assert agreement.divergence < 0.02
        assert agreement.value_error < 0.03
        assert not np.array_equal(fast.policy_logits, slow.policy_logits)  # it is another net
        np.testing.assert_allclose(fast.wdl.sum(axis=1), 1, atol=1e-5)
    check_trunk(path, positions.planes[:9])


def check_trunk(path: Path, planes: np.typing.NDArray[np.float32]) -> None:
    """The fast instructions and threads change no bit of what plain loops compute."""
    parts = split_trunk(onnx.load(path))
    if parts is None:
        return
    trunk = parts.trunk
    assert isinstance(trunk, int8.Trunk)
    shapes = [(len(planes), *shape) for shape in trunk.output_shapes]
    plain, fast = ([np.full(shape, np.nan, np.float32) for shape in shapes] for _ in range(2))
    trunk.run(planes, plain, vnni=False)
    for threads in (1, 2, 5):
        trunk.run(planes, fast, threads=threads)
        assert all(map(np.array_equal, plain, fast))
    with pytest.raises(ValueError, match="do not fit"):
        trunk.run(planes, [out[:-1] for out in fast])


def test_layers_are_int8_but_for_the_kept_ones(net: Path) -> None:
    game = zerogames.get_game("connect4")
    model, _ = load_net(net, game=game)
    program = model.program()
    planes = np.stack([game.initial_state().play(a).observe("stones") for a in range(7)])
    quantizer = Quantizer(program, planes)
    for kept in ((), ("policy",), ("blocks.0", "stem")):
        types = {
            constant.name: numpy_helper.to_array(constant).dtype
            for constant in quantizer.build(
                lambda layer, _, kept=kept: layer.name.startswith(kept or ("-",))
            ).graph.initializer
        }
        for layer in find_layers(program, build_onnx(model, game)):
            expected = np.float32 if layer.name.startswith(kept or ("-",)) else np.int8
            assert types[f"{layer.name}.weight"] == expected, (layer.name, kept)


def test_rounding_with_inputs_beats_plain_rounding_and_keeps_zeros() -> None:
    rng = np.random.default_rng(2)
    weight = rng.normal(size=(6, 40)).astype(np.float32)
    weight[rng.random(weight.shape) < 0.3] = 0
    inputs = rng.normal(size=(2000, 8)) @ rng.normal(size=(8, 40))  # strongly correlated
    scales = channel_scales(weight) * 8  # coarse steps make the difference plain
    plain = round_plainly(weight, scales)
    better = round_with_inputs(weight, scales, inputs.T @ inputs / len(inputs))
    errors = [
        float(np.square(inputs @ (steps * scales[:, None] - weight).T).mean())
        for steps in (plain, better)
    ]
    assert errors[1] < errors[0] / 2
    assert (better[weight == 0] == 0).all()
    assert better.dtype == np.int8


def test_int8_nets_are_kept_by_content(net: Path) -> None:
    game = zerogames.get_game("connect4")
    path = int8_form(NetFile.find(net), game)
    changed = path.stat().st_ctime_ns
    content = path.read_bytes()
    again = int8_form(NetFile.find(net), game)
    assert again == path
    assert again.read_bytes() == content
    assert changed <= path.stat().st_ctime_ns
    save_net(net, trained_looking("connect4", "res_3x3_1x8"))
    assert int8_form(NetFile.find(net), game) != path


def test_an_export_beside_the_net_is_used_while_it_is_of_that_net(net: Path) -> None:
    game = zerogames.get_game("connect4")
    model, info = load_net(net, game=game)
    request = ExportRequest(model=model, game=game, info=info, out=int8_path(net), source=net)
    report = find_format("int8").write(request)
    assert report.path == int8_path(net)
    assert report.agreement is not None
    assert "same best move in" in str(report)
    assert int8_form(NetFile.find(net), game) == int8_path(net)
    entries = {p.key: p.value for p in onnx.load(int8_path(net)).metadata_props}
    assert "same best move in" in entries["agreement"]
    save_net(net, trained_looking("connect4", "res_3x3_1x8"))
    assert int8_form(NetFile.find(net), game) != int8_path(net)
    int8_path(net).write_bytes(b"\xff" * 100)
    with pytest.raises(zerogames.UserError, match="no ONNX file"):
        int8_form(NetFile.find(net), game)


def test_hostile_calibration_data_is_refused(tmp_path: Path) -> None:
    game = zerogames.get_game("chess")
    with pytest.raises(zerogames.UserError, match="nothing"):
        read_positions(game, "lc0-classic", [tmp_path / "nothing"], 100)
    (tmp_path / "game.pgn").write_text('[Result "1-0"]\n\n1. e4 e5 2. Nf3 1-0\n')
    with pytest.raises(zerogames.UserError, match="3 positions are too few"):
        read_positions(game, "lc0-classic", [tmp_path / "game.pgn"], 100)
    (tmp_path / "game.pgn").write_bytes(b"\x1f\x8b" + bytes(range(256)) * 20)
    with pytest.raises(zerogames.UserError):
        read_positions(game, "lc0-classic", [tmp_path / "game.pgn"], 100)


@pytest.mark.parametrize("where", ["blocks.0.conv1.weight", "policy.dense.bias"])
def test_a_net_without_finite_numbers_is_refused(net: Path, where: str) -> None:
    game = zerogames.get_game("connect4")
    model, _ = load_net(net, game=game)
    model.state_dict()[where].fill_(float("inf"))
    with pytest.raises(zerogames.UserError, match="cannot be int8"):
        quantize_net(model.program(), game, "stones")
