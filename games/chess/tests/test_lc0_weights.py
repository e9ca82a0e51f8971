"""Weights of Lc0: the public check values, round trips, what is refused."""

import contextlib
import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from zerogames_chess.lc0 import Lc0Net, export_lc0, import_lc0, read_lc0
from zerogames_chess.lc0.layer import ENCODINGS, decode_layer, encode_layer
from zerogames_chess.lc0.network import ConvBlock, format_net, parse_net
from zerogames_chess.lc0.transfer import from_lc0, to_lc0
from zerogames_chess.lc0.wire import (
    Message,
    bytes_field,
    fixed32_field,
    integer_field,
    real_field,
    varint,
)

from zerogames.arena.players import parse_player
from zerogames.cli import main
from zerogames.data.sources import Source
from zerogames.errors import UserError
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.evaluate.opening import open_evaluator
from zerogames.export.onnx_file import export_onnx
from zerogames.game import parse_position
from zerogames.nets.layers import BatchNorm
from zerogames.nets.model import Model, build_model
from zerogames.registry import get_game
from zerogames.runs.net_source import find_net

CHESS = get_game("chess")
# Net maia-1100: value, then the five largest priors in percent.
CHECKS = {
    "startpos": (
        0.0456,
        (0.503, 0.039, 0.458),
        {"e2e4": 66.09, "d2d4": 20.95, "e2e3": 3.01, "g1f3": 2.39, "c2c4": 2.28},
    ),
    "startpos moves e2e4 e7e5 g1f3": (
        -0.0755,
        (0.443, 0.039, 0.518),
        {"b8c6": 57.74, "d7d6": 15.81, "g8f6": 11.16, "d8f6": 3.43, "f7f6": 3.29},
    ),
    "r3k2r/pp1bqppp/2nppn2/2p5/2P1P3/2NPBN2/PP1QBPPP/R3K2R w KQkq - 2 10": (
        0.3521,
        (0.659, 0.034, 0.307),
        {"e1g1": 45.17, "h2h3": 9.43, "e1c1": 9.16, "a2a3": 7.97, "d3d4": 6.34},
    ),
}


@pytest.fixture(scope="module")
def maia(shared: Path) -> Path:
    return shared / "lc0" / "maia-1100.pb.gz"


def small_model(options: str = "", seed: int = 1) -> Model:
    """A tiny net whose every number differs from its neutral value."""
    model = build_model(CHESS.parse_net(f"res_3x3_2x8+se4{options}"), CHESS, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, BatchNorm):
                assert part.running_mean is not None
                assert part.running_var is not None
                part.running_mean.normal_(0, 0.2, generator=generator)
                part.running_var.uniform_(0.5, 2, generator=generator)
                part.bias.normal_(0, 0.2, generator=generator)
                if part.weight is not None:
                    part.weight.uniform_(0.5, 1.5, generator=generator)
            elif isinstance(getattr(part, "bias", None), torch.nn.Parameter):
                part.bias.normal_(0, 0.2, generator=generator)
    return model.eval()


def planes() -> torch.Tensor:
    positions = [parse_position(CHESS, text) for text in CHECKS]
    return torch.from_numpy(np.stack([state.observe("lc0-classic") for state in positions]))


def assert_same_function(one: Model, other: Model, tolerance: float) -> None:
    with torch.no_grad():
        outputs, others = one.evaluate(planes()), other.evaluate(planes())
    for a, b in zip(outputs, others, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert torch.allclose(a, b, atol=tolerance), (a - b).abs().max()


def test_public_check_values(maia: Path) -> None:
    model = import_lc0(maia)
    assert model.spec.name == "res_3x3_6x64+se8+conv"
    for text, (q, wdl, priors) in CHECKS.items():
        state = parse_position(CHESS, text)
        with torch.no_grad():
            logits, found, _ = model.evaluate(torch.from_numpy(state.observe("lc0-classic"))[None])
        assert float(found[0, 0] - found[0, 2]) == pytest.approx(q, abs=6e-5)
        assert found[0].tolist() == pytest.approx(wdl, abs=1e-3)
        legal = state.legal_actions()
        percent = 100 * torch.softmax(logits[0, legal], 0).numpy()
        best = {
            CHESS.format_action(state, int(legal[i])): percent[i] for i in percent.argsort()[-5:]
        }
        assert set(best) == set(priors)
        for move, prior in priors.items():
            assert best[move] == pytest.approx(prior, abs=0.06)


def test_every_shared_net_is_imported(shared: Path) -> None:
    for path in sorted((shared / "lc0").glob("*.pb.gz")):
        model = import_lc0(path)
        assert all(torch.isfinite(tensor).all() for tensor in model.state_dict().values())


def test_raw_values_of_recorded_games_are_this_nets(shared: Path) -> None:
    """orig_q of chunks written by the engine with maia-1500, without counting cache hits."""
    model = import_lc0(shared / "lc0" / "maia-1500.pb.gz")
    [game] = Source([shared / "lc0" / "selfplay_v6_sample.gz"], CHESS).games()
    record = game.record()
    assert record.search is not None
    state, rows = CHESS.initial_state(), []
    for action in record.actions.tolist():
        rows.append(state.observe("lc0-classic:fill=no"))
        state = state.play(action)
    with torch.no_grad():
        _, wdl, _ = model.evaluate(torch.from_numpy(np.stack(rows)))
    difference = np.abs((wdl[:, 0] - wdl[:, 2]).numpy() - record.search.values["raw_q"])
    assert (difference < 1e-4).mean() > 0.95


def test_a_real_net_survives_the_round_trip(maia: Path, tmp_path: Path) -> None:
    model = import_lc0(maia)
    export_lc0(model, tmp_path / "again.pb.gz", training_steps=7)
    again = read_lc0(tmp_path / "again.pb.gz")
    assert again.training_steps == 7
    assert_same_function(model, from_lc0(again), 5e-4)
    # Once the unused planes are gone, writing and reading changes nothing any more.
    export_lc0(from_lc0(again), tmp_path / "third.pb.gz", training_steps=7)
    third = read_lc0(tmp_path / "third.pb.gz")
    for one, other in zip(again.blocks, third.blocks, strict=True):
        assert np.array_equal(one.conv1.weights, other.conv1.weights)
    assert np.allclose(again.stem.weights, third.stem.weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        *((encoding, "+conv+mlh") for encoding in ENCODINGS),
        ("float32", "+conv+scalar+mish"),
        ("linear16", ""),
    ],
)
def test_round_trip_of_every_kind(encoding: str, options: str, tmp_path: Path) -> None:
    model = small_model(options)
    path = tmp_path / "net.pb.gz"
    export_lc0(model, path, encoding=encoding)  # type: ignore[arg-type]
    back = import_lc0(path)
    assert back.spec.differences(model.spec) == []
    tolerance = {"float32": 1e-4, "linear16": 2e-2, "float16": 5e-2, "bfloat16": 5e-1}[encoding]
    assert_same_function(model, back, tolerance)
    if encoding == "float32":
        for name, tensor in model.state_dict().items():
            assert torch.allclose(tensor, back.state_dict()[name], atol=1e-7), name


def reference(net: Lc0Net, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The forward pass of the format's description in numpy."""
    act = {
        "relu": lambda v: np.maximum(v, 0),
        "mish": lambda v: v * np.tanh(np.log1p(np.exp(v))),
    }[net.activation]

    def conv(v: np.ndarray, block: ConvBlock) -> np.ndarray:
        channels = block.channels
        weights = block.weights.reshape(channels, v.shape[0], -1).astype(np.float64)
        size = round(weights.shape[2] ** 0.5)
        pad = size // 2
        padded = np.pad(v, ((0, 0), (pad, pad), (pad, pad)))
        out = np.zeros((channels, 8, 8))
        for row in range(size):
            for column in range(size):
                window = padded[:, row : row + 8, column : column + 8]
                out += np.einsum("oi,ihw->ohw", weights[:, :, row * size + column], window)
        bias = block.biases if len(block.biases) else np.zeros(channels)
        if not len(block.means):
            return out + bias[:, None, None]
        scale = block.gammas / np.sqrt(block.variances.astype(np.float64) + 1e-5)
        return (
            out * scale[:, None, None] + (block.betas + (bias - block.means) * scale)[:, None, None]
        )

    def dense(v: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        return weights.reshape(len(biases), -1).astype(np.float64) @ v.ravel() + biases

    h = act(conv(x, net.stem))
    for block in net.blocks:
        t = conv(act(conv(h, block.conv1)), block.conv2)
        if block.excitation is not None:
            w1, b1, w2, b2 = block.excitation
            e = dense(act(dense(t.mean((1, 2)), w1, b1)), w2, b2)
            gamma, beta = np.split(e, 2)
            t = t / (1 + np.exp(-gamma))[:, None, None] + beta[:, None, None]
        h = act(h + t)
    if net.policy1 is None:
        logits = dense(act(conv(h, net.policy.conv)), *net.policy.dense)
    else:
        flat = conv(act(conv(h, net.policy1)), net.policy.conv).ravel()
        logits = flat[CHESS.heads.policy_maps["conv"].index]
    raw = dense(
        act(dense(act(conv(h, net.value.conv)), *net.value.dense[:2])), *net.value.dense[2:]
    )
    left = None
    if net.moves_left is not None:
        hidden = act(dense(act(conv(h, net.moves_left.conv)), *net.moves_left.dense[:2]))
        left = np.maximum(dense(hidden, *net.moves_left.dense[2:]), 0)
    return logits, raw, left


@pytest.mark.parametrize("options", ["", "+conv+mlh", "+scalar+mish+mlh"])
def test_the_model_computes_what_the_format_says(options: str) -> None:
    net = to_lc0(small_model(options))
    model = from_lc0(net)
    batch = planes()
    with torch.no_grad():
        output = model(batch)
    for row in range(len(batch)):
        logits, raw, left = reference(net, batch[row].numpy().astype(np.float64))
        assert np.allclose(output.policy_logits[row], logits, atol=1e-3)
        assert np.allclose(output.value_logits[row], raw, atol=1e-3)
        if left is not None:
            assert np.allclose(output.moves_left[row], left, atol=1e-3)


def test_old_forms_of_batch_norms_are_folded() -> None:
    net = to_lc0(small_model())
    rng = np.random.default_rng(3)
    first = net.blocks[0]
    gammas = rng.uniform(0.5, 2, 8).astype(np.float32)
    biased = replace(first.conv1, gammas=gammas, biases=rng.normal(size=8).astype(np.float32))
    empty = np.empty(0, np.float32)
    plain = replace(
        first.conv2,
        biases=rng.normal(size=8).astype(np.float32),
        means=empty,
        variances=empty,
        gammas=empty,
        betas=empty,
    )
    changed = replace(net, blocks=[replace(first, conv1=biased, conv2=plain), *net.blocks[1:]])
    model = from_lc0(changed)
    x = planes()[:1]
    with torch.no_grad():
        output = model(x)
    logits, _, _ = reference(changed, x[0].numpy().astype(np.float64))
    assert np.allclose(output.policy_logits[0], logits, atol=1e-3)


def test_nets_without_squeeze_excitation() -> None:
    model = small_model()
    net = to_lc0(model)
    bare = replace(net, blocks=[replace(block, excitation=None) for block in net.blocks])
    assert from_lc0(bare).spec.name == "res_3x3_2x8+se0"


def test_other_architectures_are_refused_by_name(tmp_path: Path) -> None:
    def file(network: bytes, extra: bytes = b"") -> Path:
        form = bytes_field(4, integer_field(1, 1) + bytes_field(2, network))
        path = tmp_path / "x.pb.gz"
        path.write_bytes(gzip.compress(fixed32_field(1, 0x1C0) + form + extra))
        return path

    for network, extra, reason in (
        (integer_field(3, 6), b"", "attention body"),
        (integer_field(3, 5), b"", "ONNX"),
        (b"", bytes_field(11, b""), "ONNX"),
        (integer_field(1, 3) + integer_field(3, 4), b"", "input format 'canonical'"),
        (integer_field(3, 4) + integer_field(4, 3), b"", "no weights"),
        (integer_field(3, 4) + integer_field(5, 3), b"", "value 'param'"),
        (integer_field(3, 4) + integer_field(7, 9), b"", "activation 'unknown'"),
        (integer_field(3, 4), bytes_field(10, bytes_field(27, b"")), "attention net"),
        (integer_field(3, 4), b"", "no weights"),
    ):
        with pytest.raises(UserError, match=reason):
            read_lc0(file(network, extra))
    (tmp_path / "y.pb.gz").write_bytes(b"hello")
    with pytest.raises(UserError, match=r"y\.pb\.gz"):
        read_lc0(tmp_path / "y.pb.gz")


def test_our_other_nets_are_not_written_as_lc0(tmp_path: Path) -> None:
    model = build_model(CHESS.parse_net("mob_krb_1x24"), CHESS)
    with pytest.raises(UserError, match=r"no trunk .mob_krb_1x24"):
        export_lc0(model, tmp_path / "a.pb.gz")
    with pytest.raises(UserError, match=r"called \.pb\.gz"):
        export_lc0(small_model(), tmp_path / "a.onnx")


@settings(max_examples=40)
@given(st.data())
def test_no_damage_harms_the_reader(data: st.DataObject) -> None:
    raw = bytearray(format_net(to_lc0(small_model("+conv")), "linear16"))
    # Mostly in the structure, where lengths and field numbers are.
    for _ in range(data.draw(st.integers(1, 3))):
        limit = data.draw(st.sampled_from([80, len(raw) - 1]))
        raw[data.draw(st.integers(0, limit))] = data.draw(st.integers(0, 255))
    length = data.draw(st.sampled_from([len(raw), len(raw) // 2, 9, 0]))
    with contextlib.suppress(UserError):
        from_lc0(parse_net(Message(bytes(raw[:length]))))


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=50))
def test_layers_are_exact_to_their_encoding(values: list[float]) -> None:
    array = np.array(values, np.float32)
    step = float(array.max() - array.min()) / 65535
    back = decode_layer(Message(encode_layer(array)))
    assert np.abs(back - array).max() <= 0.51 * step + 1e-6 * np.abs(array).max()
    assert np.array_equal(decode_layer(Message(encode_layer(back))), back) or len(values) > 1
    assert np.array_equal(decode_layer(Message(encode_layer(array, "float32"))), array)
    half = decode_layer(Message(encode_layer(array, "float16")))
    assert np.array_equal(half, array.astype(np.float16).astype(np.float32))
    brain = decode_layer(Message(encode_layer(array, "bfloat16")))
    wanted = torch.from_numpy(array).to(torch.bfloat16).to(torch.float32).numpy()
    assert np.array_equal(brain, wanted)


@given(st.integers(0, 2**64 - 1), st.floats(width=32, allow_nan=False), st.binary(max_size=300))
def test_wire_round_trip(number: int, real: float, raw: bytes) -> None:
    data = integer_field(3, number) + real_field(4, real) + bytes_field(500, raw)
    message = Message(data)
    assert message.integer(3) == number
    assert message.real(4) == real
    assert bytes(message.raw(500)) == raw
    assert len(varint(number)) <= 10


def test_the_import_command_and_nets_by_name(
    maia: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "maia.safetensors"
    assert main(["import", str(maia), "--out", str(out)]) == 0
    assert "res_3x3_6x64+se8+conv" in capsys.readouterr().out
    model, info = find_net(out).load()
    assert info.step == 400_000
    assert_same_function(model, import_lc0(maia), 1e-6)
    assert main(["import", str(tmp_path / "none.pb.gz")]) == 2
    assert "there is no net file" in capsys.readouterr().err


def test_foreign_nets_are_taken_wherever_a_net_is_named(
    maia: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zerogames.cache.cache_folder", lambda: tmp_path / "cache")
    evaluator = open_evaluator(CHESS, kind="torch", net=maia)
    _, wdl, _ = evaluator.evaluate(planes().numpy())
    assert wdl[0, 0] - wdl[0, 2] == pytest.approx(0.0456, abs=1e-4)
    assert find_net(maia).load()[1].name == "res_3x3_6x64+se8+conv"


def test_mish_nets_run_in_onnxruntime(tmp_path: Path) -> None:
    model = small_model("+conv+mlh+mish")
    export_onnx(model, CHESS, tmp_path / "net.onnx")
    evaluator = OnnxEvaluator(
        tmp_path / "net.onnx", version="1", encoding=model.spec.encoding, threads=1
    )
    with torch.no_grad():
        wanted = model.evaluate(planes())
    for ours, theirs in zip(evaluator.evaluate(planes().numpy()), wanted, strict=True):
        assert ours is not None
        assert theirs is not None
        assert np.allclose(ours, theirs.numpy(), atol=1e-4)


def test_a_weights_file_is_a_player_and_can_be_shown(
    maia: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = parse_player(f"{maia}@5")
    assert spec.kind == "net"
    assert main(["info", str(maia)]) == 0
    assert "res_3x3_6x64+se8+conv" in capsys.readouterr().out
