import os
import time
from pathlib import Path

import numpy as np
import pytest

import zerogames
from zerogames.cache import mark_used, prune_cache
from zerogames.evaluate import open_evaluator
from zerogames.export.cache import NetFile, onnx_form
from zerogames.nets import build_model, save_net


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    game = zerogames.get_game("connect4")
    save_net(tmp_path / "net.safetensors", build_model(game.parse_net("res_3x3_1x8"), game))
    return tmp_path / "net.safetensors"


@pytest.mark.parametrize("kind", ["native", "onnx", "torch", "constant", "random"])
def test_every_kind_keeps_the_contract(kind: str, net: Path) -> None:
    game = zerogames.get_game("connect4")
    evaluator = open_evaluator(game, kind=kind, net=net)
    state = game.initial_state()
    planes = np.stack([state.observe(evaluator.encoding), state.play(3).observe("stones")])
    first, second = evaluator.evaluate(planes), evaluator.evaluate(planes)
    assert first.policy_logits.shape == (2, 7)
    assert first.wdl.shape == (2, 3)
    assert first.policy_logits.dtype == first.wdl.dtype == np.float32
    assert first.policy_logits.flags.c_contiguous
    np.testing.assert_allclose(first.wdl.sum(axis=1), 1, atol=1e-5)
    assert (first.wdl >= 0).all()
    assert np.array_equal(first.policy_logits, second.policy_logits)
    assert np.array_equal(first.wdl, second.wdl)
    assert evaluator.capabilities.batch_size >= 1
    assert evaluator.capabilities.needs_observation == (kind != "constant")
    assert evaluator.version


def test_random_judgements_differ_between_positions_and_seeds() -> None:
    game = zerogames.get_game("connect4")
    evaluator = open_evaluator(game, kind="random")
    planes = np.stack([game.initial_state().play(a).observe("stones") for a in range(7)])
    logits = evaluator.evaluate(planes).policy_logits
    assert len(np.unique(logits)) == logits.size
    assert -2 <= logits.min() < -1
    assert 1 < logits.max() <= 2


def test_exports_are_kept_by_content(net: Path) -> None:
    game = zerogames.get_game("connect4")
    path = onnx_form(NetFile.find(net), game)
    content = path.read_bytes()
    assert onnx_form(NetFile.find(net), game) == path
    assert path.read_bytes() == content
    save_net(net, build_model(game.parse_net("res_3x3_1x8"), game, seed=1))
    assert onnx_form(NetFile.find(net), game) != path


def test_the_cache_keeps_what_was_used_last(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zerogames.cache.CACHED_FILES", 2)
    game = zerogames.get_game("connect4")
    paths = []
    for seed in range(4):
        save_net(net, build_model(game.parse_net("res_3x3_1x8"), game, seed=seed))
        paths.append(onnx_form(NetFile.find(net), game))
    # What was used just now stays: another process may be about to read it.
    assert all(path.exists() for path in paths)
    for age, path in enumerate(reversed(paths)):
        os.utime(path, times=(time.time() - 7200 - age,) * 2)
    prune_cache()
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert not mark_used(paths[0])
    assert not paths[0].exists()


def test_mistakes_are_named(tmp_path: Path) -> None:
    game = zerogames.get_game("connect4")
    with pytest.raises(zerogames.UserError, match="did you mean 'onnx'"):
        open_evaluator(game, kind="onx")
    with pytest.raises(zerogames.UserError, match="unknown precision 'int9'"):
        open_evaluator(game, precision="int9")
    with pytest.raises(zerogames.UserError, match="'torch' has no precision int8"):
        open_evaluator(game, kind="torch", precision="int8")
    with pytest.raises(zerogames.UserError, match="--net"):
        open_evaluator(game, kind="onnx")
    with pytest.raises(zerogames.UserError, match=r"nothing\.safetensors"):
        open_evaluator(game, kind="onnx", net=tmp_path / "nothing.safetensors")
    (tmp_path / "empty.safetensors").touch()
    with pytest.raises(zerogames.UserError, match=r"empty\.safetensors"):
        open_evaluator(game, kind="torch", net=tmp_path / "empty.safetensors")
