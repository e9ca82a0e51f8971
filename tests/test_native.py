"""Our float32 kernels say what torch says, whatever the net, the board, the batch, the CPU."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load, save
from zerogames_kernels.native import LEVELS, cpu_level
from zerogames_kernels.trunks import float_trunk

import zerogames
from zerogames.evaluate import Evaluation, open_evaluator
from zerogames.evaluate.native_ import NativeEvaluator, open_native
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.cache import NetFile, native_form
from zerogames.export.native import make_native, plan_native
from zerogames.export.native_file import METADATA_KEY
from zerogames.export.parity import TOLERANCES, compare, torch_answers
from zerogames.export.positions import random_positions
from zerogames.nets import Model, build_model, save_net

Floats = NDArray[np.float32]


def lively(identity: str, name: str) -> Model:
    """A net whose batch norms and biases do something."""
    game = zerogames.get_game(identity)
    model = build_model(game.parse_net(name), game, seed=5)
    generator = torch.Generator().manual_seed(2)
    for key, tensor in model.state_dict().items():
        if "running_var" in key:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif "norm" in key or key.endswith("bias") or "stem.1" in key:
            tensor.copy_(torch.randn(tensor.shape, generator=generator) / 4 + ("weight" in key))
    return model.eval()


def open_model(model: Model, identity: str, folder: Path, *, threads: int = 1) -> NativeEvaluator:
    path = folder / "net.native"
    path.write_bytes(make_native(model.program(zerogames.get_game(identity))))
    return open_native(path, version="v", encoding=model.spec.encoding, threads=threads)


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("connect4", "res_3x3_2x16"),
        ("connect4", "res_3x3_1x7"),
        ("othello:size=6", "res_3x3_2x33+conv"),
        ("othello:size=8", "res_3x3_1x20"),
        ("go:size=7", "a0.1.24"),
        ("go:size=9", "a0.2.16"),
        ("go:size=19", "res_3x3_1x8+se4"),
        ("chess", "res_3x3_2x40+conv+se4"),
    ],
)
def test_nets_of_every_game_agree_with_torch(identity: str, name: str, tmp_path: Path) -> None:
    game, model = zerogames.get_game(identity), lively(identity, name)
    assert plan_native(model.program()) is not None
    planes = random_positions(game, model.spec.encoding, 9, max_plies=20)
    ours = open_model(model, identity, tmp_path).evaluate(planes)
    right = torch_answers(model, planes)
    compare(ours, right).check(TOLERANCES["fp32"])


def test_answers_depend_neither_on_batch_nor_on_threads(tmp_path: Path) -> None:
    game, model = zerogames.get_game("connect4"), lively("connect4", "res_3x3_2x24+se4")
    planes = np.tile(random_positions(game, model.spec.encoding, 64), (8, 1, 1, 1))
    one = open_model(model, "connect4", tmp_path)
    trunk = one._trunk
    shapes = trunk.output_shapes

    def run(batch: int, threads: int) -> list[Floats]:
        outs = [np.full((batch, *shape), np.nan, np.float32) for shape in shapes]
        trunk.run(planes[:batch], outs, threads=threads)
        return outs

    whole = run(512, 1)
    for batch in (0, 1, 2, 13, 64, 511):
        for threads in (1, 2, 7):
            parts = run(batch, threads)
            assert all(np.array_equal(w[:batch], p) for w, p in zip(whole, parts, strict=True))
    assert one.evaluate(planes).wdl.shape == (512, 3)


def random_trunk(rng: np.random.Generator) -> float_trunk.Trunk:
    """A stem of eight channels on a board of 5x6, and what it finds."""
    weight = rng.normal(size=(8, 3, 3, 3)).astype(np.float32)
    trunk = float_trunk.Trunk(5, 6, weight, *_zeros(8), True)
    trunk.add_output([])
    return trunk


def test_batches_may_overlap_and_end_in_any_order() -> None:
    rng = np.random.default_rng(3)
    trunk = random_trunk(rng)
    for threads in (1, 2, 3, 2):
        planes = [rng.normal(size=(rows, 3, 5, 6)).astype(np.float32) for rows in (40, 1, 0, 23)]
        outs = [np.full((len(x), 8, 5, 6), np.nan, np.float32) for x in planes]
        pending = [
            trunk.start(x, [out], threads=threads) for x, out in zip(planes, outs, strict=True)
        ]
        for number in (2, 3, 0):
            pending[number].finish()
            pending[number].finish()  # has no effect
        del pending  # waits for the one that is left
        for x, out in zip(planes, outs, strict=True):
            alone = np.empty_like(out)
            trunk.run(x, [alone])
            assert np.array_equal(out, alone)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    rng = np.random.default_rng(3)
    trunk, planes = random_trunk(rng), rng.normal(size=(64, 3, 5, 6)).astype(np.float32)
    here, there = np.empty((64, 8, 5, 6), np.float32), np.empty((64, 8, 5, 6), np.float32)
    trunk.run(planes, [here], threads=2)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that waits for threads it does not have
        trunk.run(planes, [there], threads=2)
        os._exit(0 if np.array_equal(here, there) else 1)
    assert os.waitpid(child, 0)[1] == 0


@settings(max_examples=30, deadline=None)
@given(
    widths=st.tuples(st.integers(1, 20), st.integers(1, 150), st.integers(1, 40)),
    relus=st.tuples(st.booleans(), st.booleans()),
    chosen=st.integers(0, 9),
    batch=st.integers(0, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_dense_layers_of_any_size_agree_with_torch(
    widths: tuple[int, int, int], relus: tuple[bool, bool], chosen: int, batch: int, seed: int
) -> None:
    channels, hidden, out = widths
    rng = np.random.default_rng(seed)
    trunk = random_trunk(rng)
    head = rng.normal(size=(channels, 8, 1, 1)).astype(np.float32), *_zeros(channels), True
    places = rng.integers(0, channels * 30, chosen) if chosen else None
    sizes = chosen or channels * 30, hidden, out
    dense = [
        (
            (rng.normal(size=(to, come)) / np.sqrt(come)).astype(np.float32),
            rng.normal(size=to).astype(np.float32),
            relu,
        )
        for come, to, relu in zip(sizes, sizes[1:], relus, strict=False)
    ]
    trunk.add_output([head], places, dense)
    assert trunk.output_shapes[1] == (out,)
    planes = rng.normal(size=(batch, 3, 5, 6)).astype(np.float32)
    found = [np.full((batch, *shape), np.nan, np.float32) for shape in trunk.output_shapes]
    trunk.run(planes, found, threads=2)
    x = F.relu(F.conv2d(torch.from_numpy(found[0]), torch.from_numpy(head[0]))).flatten(1)
    if places is not None:
        x = x[:, places]
    for weight, bias, relu in dense:
        x = F.linear(x, torch.from_numpy(weight), torch.from_numpy(bias))
        x = F.relu(x) if relu else x
    np.testing.assert_allclose(found[1], x.numpy(), rtol=1e-3, atol=1e-3)


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(*(st.integers(1, most) for most in (11, 5, 10, 10))),
    widths=st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(0, 9)),
    size=st.sampled_from([1, 3]),
    relu=st.booleans(),
    norm=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_blocks_of_any_size_agree_with_torch(
    shape: tuple[int, ...],
    widths: tuple[int, int, int],
    size: int,
    relu: bool,
    norm: bool,
    seed: int,
) -> None:
    batch, planes, height, width = shape
    channels, inner, excited = widths
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Floats:
        fan = max(1, int(np.prod(shape[1:])))
        return (rng.normal(size=shape) / np.sqrt(fan)).astype(np.float32)

    stem = draw(channels, planes, 3, 3), draw(channels)
    first = draw(inner, channels, size, size), draw(inner)
    last = draw(channels, inner, size, size), draw(channels)
    wide = 2 * channels
    se = (draw(excited, channels), draw(excited), draw(wide, excited), draw(wide))
    affine = draw(channels), draw(channels)
    head = draw(13, channels, 3, 3), draw(13), True
    trunk = float_trunk.Trunk(height, width, *stem, True)
    trunk.add_block(
        first=first,
        last=last,
        excitation=se if excited else None,
        relu=relu,
        norm=affine if norm else None,
    )
    trunk.add_output([])
    trunk.add_output([head])
    chosen = rng.integers(0, 13 * height * width, 20)
    trunk.add_output([head], chosen)
    x = rng.normal(size=(batch, planes, height, width)).astype(np.float32)
    x[:, :1] = 0.5  # the same everywhere
    outs = [np.full((batch, *shape), np.nan, np.float32) for shape in trunk.output_shapes]
    trunk.run(x, outs, threads=2)

    def layer(x: torch.Tensor, weight: Floats, bias: Floats) -> torch.Tensor:
        pad = weight.shape[2] // 2
        return F.conv2d(x, torch.from_numpy(weight), torch.from_numpy(bias), padding=pad)

    y = F.relu(layer(torch.from_numpy(x), *stem))
    z = F.relu(layer(y, *first))
    z = layer(z, *last)
    if excited:
        squeeze, squeeze_bias, excite, excite_bias = map(torch.from_numpy, se)
        hidden = F.relu(F.linear(z.mean(dim=(2, 3)), squeeze, squeeze_bias))
        scale, shift = F.linear(hidden, excite, excite_bias)[:, :, None, None].chunk(2, dim=1)
        z = z * torch.sigmoid(scale) + shift
    y = F.relu(y + z) if relu else y + z
    if norm:
        y = y * torch.from_numpy(affine[0])[:, None, None]
        y = y + torch.from_numpy(affine[1])[:, None, None]
    planes_behind = F.relu(layer(y, *head[:2]))
    for ours, right in zip(
        outs, (y, planes_behind, planes_behind.flatten(1)[:, chosen]), strict=True
    ):
        np.testing.assert_allclose(ours, right.numpy(), atol=3e-5 * (1 + float(right.abs().max())))


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_older_cpus_compute_the_same(level: str, tmp_path: Path) -> None:
    if LEVELS.index(level) > LEVELS.index(cpu_level()):
        pytest.skip(f"this CPU does not run level {level}")
    game, model = zerogames.get_game("chess"), lively("chess", "res_3x3_1x40+conv+se4")
    planes = random_positions(game, model.spec.encoding, 5)
    open_model(model, "chess", tmp_path)
    np.save(tmp_path / "planes.npy", planes)
    code = f"""
from pathlib import Path
import numpy as np
from zerogames_kernels.native import limit_level
limit_level("{level}")
from zerogames.evaluate.native_ import open_native
evaluator = open_native(Path("net.native"), version="", encoding="", threads=2)
policy, wdl, _ = evaluator.evaluate(np.load("planes.npy"))
np.savez("answers.npz", policy=policy, wdl=wdl)
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    answers, right = np.load(tmp_path / "answers.npz"), torch_answers(model, planes)
    ours = Evaluation(answers["policy"], answers["wdl"], right.moves_left)
    compare(ours, right).check(TOLERANCES["fp32"])


def test_not_a_number_is_handed_on() -> None:
    """A diverged net must show."""
    trunk = float_trunk.Trunk(4, 4, np.full((3, 1, 1, 1), np.nan, np.float32), *_zeros(3), True)
    trunk.add_output([])
    out = np.zeros((1, 3, 4, 4), np.float32)
    trunk.run(np.ones((1, 1, 4, 4), np.float32), [out])
    assert np.isnan(out).all()


def test_other_nets_and_words_take_onnxruntime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    game, net = zerogames.get_game("othello:size=6"), tmp_path / "net.safetensors"
    for name, native in (
        ("res_3x3_1x8", True),
        ("cnx_5x5_1x8", False),
        ("res_5x5_1x8", False),
        ("mob_3x3_1x8", False),
    ):
        save_net(net, build_model(game.parse_net(name), game))
        kind = NativeEvaluator if native and cpu_level() != "baseline" else OnnxEvaluator
        assert isinstance(open_evaluator(game, net=net), kind)
        assert isinstance(open_evaluator(game, kind="onnx", net=net), OnnxEvaluator)
        if not native:
            with pytest.raises(ValueError, match="no native kernel"):
                make_native(build_model(game.parse_net(name), game).program())


def test_a_native_form_is_kept_and_a_damaged_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    game, net = zerogames.get_game("connect4"), tmp_path / "net.safetensors"
    save_net(net, build_model(game.parse_net("res_3x3_1x8"), game))
    path = native_form(NetFile.find(net), game)
    content = path.read_bytes()
    assert native_form(NetFile.find(net), game) == path
    tensors = load(content)
    for damaged in (
        content[: len(content) // 2],
        save(tensors, {}),
        save(tensors, {METADATA_KEY: "{}"}),
        save(tensors, {METADATA_KEY: json.dumps({"board": [10**6, 7], "stem_relu": True})}),
        save(tensors | {"blocks.0.first.bias": np.zeros(9, np.float32)}, _plan(path)),
        save(tensors | {"blocks.0.last.weight": np.zeros((8, 8, 5, 5), np.float32)}, _plan(path)),
        save(tensors | {"heads": np.frombuffer(b"no ONNX file", np.uint8)}, _plan(path)),
    ):
        path.write_bytes(damaged)
        with pytest.raises(zerogames.UserError, match=r"\.native"):
            open_native(path, version="", encoding="stones")


def test_sizes_that_do_not_fit_are_refused() -> None:
    weight, bias = np.zeros((4, 2, 3, 3), np.float32), np.zeros(4, np.float32)
    for height, width in ((0, 8), (8, 26), (-1, 8), (1 << 20, 1 << 20)):
        with pytest.raises(ValueError, match="1 to 25"):
            float_trunk.Trunk(height, width, weight, bias, True)
    with pytest.raises(ValueError, match="channels"):
        float_trunk.Trunk(8, 8, np.zeros((0, 2, 3, 3), np.float32), bias, True)
    with pytest.raises(ValueError, match="window"):
        float_trunk.Trunk(8, 8, np.zeros((4, 2, 4, 4), np.float32), bias, True)
    with pytest.raises(ValueError, match="stem"):
        float_trunk.Trunk(8, 8, weight, bias[:3], True)
    trunk = float_trunk.Trunk(8, 8, weight, bias, True)
    with pytest.raises(ValueError, match="do not fit the trunk"):
        trunk.add_output([(weight, bias, False)])
    with pytest.raises(ValueError, match="do not fit the trunk"):
        trunk.add_block(
            first=(weight, bias),
            last=(weight, bias),
            excitation=None,
            relu=True,
            norm=None,
        )
    square, norm = np.zeros((4, 4, 3, 3), np.float32), (bias, bias)
    for first, dense in (
        (square, np.zeros((4, 3), np.float32)),
        (square, np.zeros((3, 4), np.float32)),
        (square, np.zeros((0, 12), np.float32)),
        (square[:3], None),
    ):
        with pytest.raises(ValueError, match=r"do not fit|channels"):
            trunk.add_normed_block(
                before=norm,
                first=(first, np.zeros(len(first), np.float32)),
                last=(square, bias),
                bias=None if dense is None else (dense, 0.5),
            )
    with pytest.raises(ValueError, match="norm"):
        trunk.set_tip((bias[:3], bias))
    for places in ([4 * 64], [-1], []):
        with pytest.raises(ValueError, match="chooses"):
            trunk.add_output([], np.array(places, np.int64))
    for inputs, outputs, biases in ((4 * 64 - 1, 3, 3), (4 * 64, 3, 2), (4 * 64, 0, 0)):
        layer = np.zeros((outputs, inputs), np.float32), np.zeros(biases, np.float32), False
        with pytest.raises(ValueError, match=r"dense layer|channels"):
            trunk.add_output([], None, [layer])
    trunk.add_output([])
    planes, out = np.zeros((3, 2, 8, 8), np.float32), np.zeros((3, 4, 8, 8), np.float32)
    trunk.run(planes, [out], threads=-5)
    for wrong in ([out[:2]], [], [out, out], [out[:, :3].copy()]):
        with pytest.raises(ValueError, match="do not fit"):
            trunk.run(planes, wrong)
    with pytest.raises(ValueError, match="do not fit"):
        trunk.run(planes[:, :, :7].copy(), [out])


def _zeros(*counts: int) -> list[Floats]:
    return [np.zeros(count, np.float32) for count in counts]


def _plan(path: Path) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        return {METADATA_KEY: file.metadata()[METADATA_KEY]}
