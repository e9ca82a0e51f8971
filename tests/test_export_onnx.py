"""`zerogames export --format onnx`: every net and head, on every kind of board, checked."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import numpy_helper
from zerogames_go.paper_nets import NAMED
from zerogames_kernels import Pattern, random_pattern, reference, square_pattern

import zerogames
from zerogames.cli import main
from zerogames.evaluate import Evaluation
from zerogames.export import BatchSizes, ExportOptions, ExportRequest, export_net
from zerogames.export.board_op import add_function, board_nodes, is_square, op_attributes
from zerogames.export.onnx_format import check_structure, make_checked_onnx
from zerogames.export.parity import TOLERANCES, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.nets import Model, build_model, save_net
from zerogames.nets.file import describe_net
from zerogames.nets.program_writer import ProgramWriter

CHESS = [
    *[
        f"{block}_{kernel}_1x12+conv"
        for block in ("res", "mob", "cnx")
        for kernel in ("3x3", "5x5", "rng", "rb", "krb", "rbk")
    ],
    "res_3x3_1x8+mish+wdl+mlh",
    "mob_krb_2x12+scalar",
    "mob_3x3_1x12+scalar+mlh",
    "cnx_krb_2x12+attention+gap",
]
GO = [
    ("go:size=5", "a0.1.8"),
    ("go:size=7", "mobile.avg.1.8.16"),
    ("go:size=9", "mobile.conv.avg.bin.1.8.16"),
    ("go:size=13", "mobile.conv.avg.bin.1.8.16+pass"),
    ("go", "mob_rng_1x8+leela-18"),
    ("go:size=9", "mob_3x3_1x8+ownership+score"),
    ("go:size=25", "cnx_rng_1x8+points+gap"),
    *[("go:size=5", name) for name in NAMED],
]
OTHERS = [
    ("connect4", "mob_rng_2x12"),
    ("othello:size=4", "mob_3x3_1x8"),
    ("othello:size=6", "cnx_rng_2x8+conv"),
    *[(name, zerogames.get_game(name).default_net) for name in zerogames.game_names()],
]


def trained_looking(model: Model) -> Model:
    """Batch norms that do something: a new net's would hide mistakes in folding."""
    generator = torch.Generator().manual_seed(1)
    for name, tensor in model.state_dict().items():
        if "running_var" in name:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif "norm" in name or name.endswith("bias") or "stem.1" in name:
            tensor.copy_(torch.randn(tensor.shape, generator=generator) / 8 + ("weight" in name))
    return model.eval()


def make_request(identity: str, name: str, *, precision: str = "fp32") -> ExportRequest:
    game = zerogames.get_game(identity)
    model = trained_looking(build_model(game.parse_net(name), game, seed=3))
    options = ExportOptions(positions=4, precision=precision)
    out = Path("net.onnx")
    return ExportRequest(model=model, game=game, info=describe_net(model), out=out, options=options)


NETS = [*[("chess", name) for name in CHESS], *GO, *OTHERS]
HALF = [
    ("chess", "res_krb_1x12+conv"),
    ("chess", "res_3x3_1x8+mish+wdl+mlh"),
    ("chess", "mob_krb_1x12+conv+mlh"),
    ("chess", "cnx_krb_2x12+attention+gap"),
    ("go:size=9", "a0.small.avg.conv.bin"),
    ("go:size=7", "mobile.avg.2.8.16"),
    ("go:size=9", "mobile.conv.avg.bin.2.8.16+pass"),
    ("connect4", "mob_rng_2x12+scalar"),
    ("othello:size=6", "cnx_rng_2x8+conv"),
]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Waiting threads cost more than these small nets."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("identity", "name", "precision"),
    [*[(*net, "fp32") for net in NETS], *[(*net, "fp16") for net in HALF]],
)
def test_every_net_says_the_same_after_export(identity: str, name: str, precision: str) -> None:
    request = make_request(identity, name, precision=precision)
    model, _ = make_checked_onnx(request)  # raises above the tolerance
    if board_nodes(model):
        plain, _ = make_checked_onnx(request, board_op=False)  # as our own evaluator has it
        assert not board_nodes(plain)
    masked = not any(is_square(patterns) for patterns in request.model.patterns)
    [stage] = request.model.spec.stages
    depthwise = stage.block in ("mob", "cnx")
    assert len(board_nodes(model)) == (stage.blocks if masked and depthwise else 0)
    kinds = {numpy_helper.to_array(tensor).dtype for tensor in model.graph.initializer}
    assert (np.dtype(np.float16) in kinds) == (precision == "fp16")


PATTERNS = {
    "three groups": [
        Pattern.from_mask("rook", "00100 00100 11111 00100 00100"),
        Pattern.from_mask("bishop", "10001 01010 00100 01010 10001"),
        Pattern.from_mask("knight", "01010 10001 00100 10001 01010"),
    ],
    "square": [square_pattern(3)],
    "six taps": [random_pattern(seed, taps=6) for seed in range(4)],
}


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("patterns", PATTERNS.values(), ids=PATTERNS)
def test_the_function_means_what_the_kernel_does(patterns: list[Pattern], relu: bool) -> None:
    channels, taps = 7, len(patterns[0].offsets)
    rng = np.random.default_rng(2)
    x = rng.standard_normal((3, channels, 6, 9), np.float32)
    weight = rng.standard_normal((channels, taps), np.float32)
    bias = rng.standard_normal(channels, np.float32)
    attributes = op_attributes(patterns, channels, relu=relu)
    node = onnx.helper.make_node("BoardDepthwise", ["x", "w", "b"], ["y"], **attributes)
    shape = ["batch", channels, 6, 9]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "one",
        [value("x", 1, shape)],
        [value("y", 1, shape)],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
    )
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("zerogames", 1)]
    model = add_function(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10))
    check_structure(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    [y] = session.run(None, {"x": x})
    offsets = [pattern.offsets for pattern in patterns]
    right = reference.slices(
        torch.from_numpy(x), torch.from_numpy(weight), offsets, torch.from_numpy(bias), relu=relu
    )
    np.testing.assert_allclose(y, right.numpy(), rtol=1e-4, atol=1e-5)


def test_the_file_alone_runs_and_says_what_it_is(tmp_path: Path) -> None:
    game = zerogames.get_game("chess")
    net = tmp_path / "my.net.safetensors"
    save_net(
        net,
        trained_looking(build_model(game.parse_net("mob_krb_1x12+conv+mlh"), game)),
        step=7,
        data_licence="CC0",
    )
    assert main(["export", str(net), "--positions", "3"]) == 0
    session = onnxruntime.InferenceSession(tmp_path / "my.net.onnx")
    metadata = session.get_modelmeta().custom_metadata_map
    assert metadata["game"] == "chess"
    assert metadata["net"] == "mob_krb_1x12+conv+mlh"
    assert (metadata["planes"], metadata["board"], metadata["actions"]) == ("112", "8x8", "1858")
    assert (metadata["step"], metadata["data_licence"]) == ("7", "CC0")
    names = [output.name for output in session.get_outputs()]
    assert names == ["/output/policy", "/output/wdl", "/output/mlh"]
    [planes] = session.get_inputs()
    assert planes.name == "/input/planes"
    assert planes.shape == ["batch", 112, 8, 8]
    for batch in (1, 5):
        policy, wdl, moves_left = session.run(
            None, {planes.name: np.zeros((batch, 112, 8, 8), np.float32)}
        )
        assert policy.shape == (batch, 1858)
        assert (wdl.shape, moves_left.shape) == ((batch, 3), (batch,))


def test_the_plugin_variant_holds_the_operator_alone(tmp_path: Path) -> None:
    out = tmp_path / "net.onnx"
    arguments = ["export", "mob_krb_1x12+conv", "--game", "chess", "--plugin-op"]
    assert main([*arguments, "--positions", "2", "--out", str(out), "--precision", "fp16"]) == 0
    model = onnx.load(out)
    [node] = board_nodes(model)
    assert not model.functions
    attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
    assert attributes["channels"] == 72
    assert attributes["groups"] == 3
    assert len(attributes["offsets"]) == 3 * 9 * 2
    with pytest.raises(Exception, match="BoardDepthwise"):
        onnxruntime.InferenceSession(out)


def test_a_wrong_export_fails_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The reach of a real mistake: one batch norm folded with the wrong epsilon.
    right = ProgramWriter.batch_norm
    monkeypatch.setattr(
        ProgramWriter, "batch_norm", lambda self, norm: replace(right(self, norm), epsilon=0.05)
    )
    out = tmp_path / "net.onnx"
    arguments = ["export", "res_3x3_1x8", "--game", "connect4", "--out", str(out)]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert "largest differences" in captured.out
    assert "the export differs from the net: policy logits by" in captured.err
    assert list(tmp_path.iterdir()) == []


def test_differences_are_told_and_judged() -> None:
    request = make_request("connect4", "mob_3x3_1x8")
    planes = random_positions(request.game, "stones", 5)
    right = torch_answers(request.model, planes, batch=2)
    assert len(right.wdl) == 5
    parity = compare(right, right)
    assert (parity.policy, parity.wdl, parity.same_best) == (0, 0, 1)
    parity.check(TOLERANCES["fp32"])
    off = right.wdl.copy()
    off[1, 2] += 0.01
    parity = compare(Evaluation(right.policy_logits, off, None), right)
    assert parity.wdl == pytest.approx(0.01, abs=1e-6)
    parity.check(TOLERANCES["fp16"])
    with pytest.raises(zerogames.UserError, match=r"win-draw-loss by 0\.01"):
        parity.check(TOLERANCES["fp32"])
    off[1, 2] = np.nan
    with pytest.raises(zerogames.UserError, match="win-draw-loss by nan"):
        compare(Evaluation(right.policy_logits, off, None), right).check(TOLERANCES["fp16"])
    with pytest.raises(zerogames.UserError, match="other wdl"):
        compare(Evaluation(right.policy_logits, off[:, :2], None), right)


def test_weights_beyond_half_precision_are_refused() -> None:
    request = make_request("connect4", "res_3x3_1x8", precision="fp16")
    with torch.no_grad():
        request.model.state_dict()["policy.dense.weight"][0, 0] = 1e6
    with pytest.raises(zerogames.UserError, match=r"policy\.dense\.weight.* too large for fp16"):
        make_checked_onnx(request)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.safetensors"], "there is no net file 'nothing.safetensors'"),
        (["mob_3x3_1x8"], "for a name add --game"),
        (["mob_3x3_1x8", "--game", "chess", "--format", "onx"], "did you mean 'onnx'"),
        (["mob_3x3_1x8", "--game", "chess", "--precision", "fp8"], "known: fp16, fp32"),
        (["mob_3x3_1x8", "--game", "chess", "--plugin-op"], "no masked depthwise layer"),
        (["mob_3x3_1x8", "--game", "chess", "--out", "none/x.onnx"], "no such folder"),
        (["mob_3x3_1x8", "--game", "chess", "--out", "."], "is a folder"),
        (["mob_3x3_1x8", "--game", "chess", "--batch", "8,4,2"], "do not fall"),
        (["mob_3x3_1x8", "--game", "chess", "--batch", "all"], "such as 64"),
        (["mob_3x3_1x8", "--game", "chess", "--positions", "0"], "1 to 100000"),
        (["mob_3x3_1x8", "--game", "chess", "--plugin-library", "x"], "is for --plugin-op"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_batch_sizes() -> None:
    assert BatchSizes.parse("1,64,256") == BatchSizes()
    assert BatchSizes.parse("16") == BatchSizes(smallest=16, best=16, largest=16)
    assert BatchSizes.parse("16,32") == BatchSizes(smallest=1, best=16, largest=32)


def test_another_board_for_a_net_that_serves_any(tmp_path: Path) -> None:
    game = zerogames.get_game("go:size=9")
    net = tmp_path / "net.safetensors"
    save_net(net, build_model(game.parse_net("mobile.conv.avg.bin.1.8.16"), game))
    assert main(["export", str(net), "--game", "go:size=13", "--positions", "2"]) == 0
    model = onnx.load(tmp_path / "net.onnx")
    assert [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim][1:] == [
        21,
        13,
        13,
    ]


def test_the_library_exports_without_a_console(tmp_path: Path) -> None:
    game = zerogames.get_game("connect4")
    net = tmp_path / "net.safetensors"
    save_net(net, build_model(game.parse_net("res_3x3_1x8"), game, seed=1), step=7)
    report = export_net(str(net), options=ExportOptions(positions=3, precision="fp16"))
    assert report.path == tmp_path / "net.fp16.onnx"
    assert report.path.is_file()
    assert report.parity is not None
    assert report.parity.positions == 3
    assert not report.missing
    assert "res_3x3_1x8 for connect4, fp16" in str(report)
    model = trained_looking(build_model(game.parse_net("mob_3x3_1x8"), game))
    assert export_net(model, tmp_path / "new.onnx").path == tmp_path / "new.onnx"
    with pytest.raises(zerogames.UserError, match="--calibration is for int8"):
        export_net(model, tmp_path / "x.onnx", options=ExportOptions(calibration=(net,)))
