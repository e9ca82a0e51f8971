"""Engines: really built by TensorRT for RTX; what is missing for TensorRT itself is said."""

import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import zerogames
from zerogames.cli import main
from zerogames.evaluate import open_evaluator
from zerogames.evaluate.tensorrt_ import TensorRTEvaluator
from zerogames.export.board_op import add_function
from zerogames.export.engine import build_engine, info_path, plugin_library, read_engine
from zerogames.export.engine_run import split_batch
from zerogames.export.onnx_file import build_onnx
from zerogames.export.request import BatchSizes
from zerogames.nets import build_model

SMALL = BatchSizes(smallest=1, best=4, largest=8)


@pytest.fixture(scope="module")
def rtx() -> ModuleType:
    return pytest.importorskip("tensorrt_rtx", reason="tensorrt-rtx is not installed")


def arguments(identity: str, name: str, out: Path, *options: str) -> list[str]:
    return ["export", name, "--game", identity, "--positions", "2", "--out", str(out), *options]


@pytest.mark.parametrize(
    ("identity", "name", "precision"),
    [
        ("chess", "mob_krb_1x12+conv+mlh", "fp16"),
        ("chess", "res_krb_1x12+attention+mish", "fp32"),
        ("go:size=9", "mobile.conv.avg.bin.1.8.16", "fp16"),
        ("go:size=5", "a0.1.8", "fp32"),
        ("connect4", "cnx_rng_1x8+scalar", "fp32"),
    ],
)
@pytest.mark.usefixtures("rtx")
def test_rtx_engines_are_built_without_a_gpu(
    identity: str, name: str, precision: str, tmp_path: Path
) -> None:
    out = tmp_path / "net.engine"
    options = ["--format", "tensorrt-rtx", "--precision", precision, "--batch", "1,4,8"]
    assert main(arguments(identity, name, out, *options)) == 0
    engine, info = read_engine(out)
    assert len(engine) > 1000
    assert info.builder == "tensorrt-rtx"
    assert info.batch == (1, 4, 8)
    assert (info.net["game"], info.net["net"]) == (identity, name)
    assert info.net["precision"] == precision


def test_the_portable_file_is_taken_as_well_and_the_plugins_is_refused(
    rtx: ModuleType,
) -> None:
    game = zerogames.get_game("chess")
    model = build_model(game.parse_net("mob_krb_1x12+conv"), game)
    proto = build_onnx(model, game, half=True, board_op=True)
    assert build_engine(rtx, add_function(proto), SMALL)
    with pytest.raises(zerogames.UserError, match=r"tensorrt_rtx .* cannot parse the net: "):
        build_engine(rtx, proto, SMALL)


def test_python_interface_has_the_names_the_evaluator_uses(rtx: ModuleType) -> None:
    used = {
        rtx.Runtime: ["deserialize_cuda_engine"],
        rtx.ICudaEngine: [
            "create_execution_context",
            "get_tensor_name",
            "num_io_tensors",
            "get_tensor_dtype",
            "get_tensor_shape",
        ],
        rtx.IExecutionContext: ["set_tensor_address", "set_input_shape", "execute_async_v3"],
    }
    for kind, names in used.items():
        assert [name for name in names if not hasattr(kind, name)] == []
    assert rtx.float32


def test_a_missing_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt_rtx", None)
    out = tmp_path / "net.engine"
    assert main(arguments("connect4", "res_3x3_1x8", out, "--format", "tensorrt-rtx")) == 2
    assert "pip install 'zerogames[tensorrt-rtx]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_tensorrt_the_onnx_file_is_written_and_the_exit_code_is_not_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "net.engine"
    options = ["--format", "tensorrt", "--plugin-op"]
    assert main(arguments("chess", "mob_krb_1x12+conv", out, *options)) == 1
    captured = capsys.readouterr()
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]
    assert captured.err.startswith("no engine was built; missing: ")
    assert captured.err.count("\n") == 1
    assert "pip install 'zerogames[tensorrt]'" in captured.err
    assert str(plugin_library()) in captured.err
    folder = Path(captured.out.rpartition(": ")[2].strip())
    assert (folder / "plugin.cpp").is_file()
    assert (folder / ".." / "cuda" / "board_depthwise.cu").is_file()


@pytest.mark.usefixtures("rtx")
def test_damaged_engines_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "net.engine"
    assert main(arguments("connect4", "res_3x3_1x8", out, "--format", "tensorrt-rtx")) == 0
    engine, text = out.read_bytes(), info_path(out).read_text()
    out.write_bytes(engine[:-1])
    with pytest.raises(zerogames.UserError, match="does not describe"):
        read_engine(out)
    out.write_bytes(engine)
    info_path(out).write_text(text.replace('"batch"', '"bach"'))
    with pytest.raises(zerogames.UserError, match=r"net\.engine\.json: wrong at"):
        read_engine(out)
    for old, new in (('"encoding"', '"other"'), ("1,\n    64", "65,\n    64")):
        assert old in text
        info_path(out).write_text(text.replace(old, new))
        with pytest.raises(zerogames.UserError, match="is damaged"):
            read_engine(out)
    info_path(out).unlink()
    with pytest.raises(zerogames.UserError, match=r"net\.engine\.json: No such file"):
        read_engine(out)


@pytest.mark.usefixtures("rtx")
def test_evaluators_say_what_an_engine_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = zerogames.get_game("connect4")
    out = tmp_path / "net.engine"
    assert main(arguments("connect4", "res_3x3_1x8", out, "--format", "tensorrt-rtx")) == 0
    with pytest.raises(zerogames.UserError, match="--format tensorrt"):
        open_evaluator(game, kind="tensorrt", net=tmp_path / "net.safetensors")
    with pytest.raises(zerogames.UserError, match="a net for connect4, not for chess"):
        open_evaluator(zerogames.get_game("chess"), kind="tensorrt", net=out)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(zerogames.UserError, match="needs an NVIDIA GPU"):
        open_evaluator(game, kind="tensorrt", net=out)


@pytest.mark.parametrize(("batch", "largest"), [(0, 4), (1, 4), (4, 4), (9, 4), (1000, 64)])
def test_batches_are_split_evenly(batch: int, largest: int) -> None:
    parts = list(split_batch(batch, largest))
    assert parts[0][0] == 0
    assert parts[-1][1] == batch
    assert all(one[1] == other[0] for one, other in pairwise(parts))
    sizes = [last - first for first, last in parts]
    assert max(sizes) <= largest
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_an_engine_answers_on_a_gpu(tmp_path: Path) -> None:
    out = tmp_path / "net.engine"
    assert main(arguments("chess", "mob_krb_1x12", out, "--format", "tensorrt")) == 0
    engine, info = read_engine(out)
    evaluator = TensorRTEvaluator(engine, info, version="1")
    for batch in (1, 300, 1000):
        answer = evaluator.evaluate(np.zeros((batch, 112, 8, 8), np.float32))
        assert answer.policy_logits.shape == (batch, 1858)
        np.testing.assert_allclose(answer.wdl.sum(axis=1), 1, atol=1e-4)
