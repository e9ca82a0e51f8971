import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from zerogames import UserError, get_game
from zerogames.nets import build_model, load_net, load_weights, read_net_info, save_net
from zerogames.nets.model import Model
from zerogames.nets.net_info import METADATA_KEY

GAME = get_game("othello:size=4")


def make(name: str, identity: str = "othello:size=4", seed: int = 3) -> Model:
    game = get_game(identity)
    return build_model(game.parse_net(name), game, seed=seed)


def read_metadata(path: Path) -> dict[str, object]:
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    text = json.loads(data[8 : 8 + length])["__metadata__"][METADATA_KEY]
    description: dict[str, object] = json.loads(text)
    return description


def rewrite(path: Path, **changes: object) -> None:
    """Save the same tensors with another description."""
    description = read_metadata(path) | changes
    save_file(load_file(path), path, {METADATA_KEY: json.dumps(description)})


@pytest.mark.parametrize("name", ["mob_rng_2x8+mlh", "res_3x3_2x8+conv+scalar", "cnx_5x5_1x8"])
def test_a_net_survives_the_file(name: str, tmp_path: Path) -> None:
    model = make(name).train()
    model(torch.randn(8, 3, 4, 4))  # moves the running statistics
    path = tmp_path / "net.safetensors"
    save_net(path, model, step=12, metrics={"loss": 1.5}, data_licence="CC0-1.0")
    loaded, info = load_net(path)
    assert (info.name, info.game, info.encoding) == (name, "othello:size=4", "stones")
    assert (info.step, info.metrics, info.data_licence) == (12, {"loss": 1.5}, "CC0-1.0")
    planes = torch.randn(3, 3, 4, 4)
    torch.testing.assert_close(loaded(planes), model.eval()(planes), rtol=0, atol=0)
    assert not loaded.training
    assert sorted(tmp_path.iterdir()) == [path]


def test_random_patterns_come_from_the_file(tmp_path: Path) -> None:
    """A net keeps its taps even if another numpy draws others from the seed."""
    path = tmp_path / "net.safetensors"
    save_net(path, make("mob_rng_1x8"))
    stored = read_net_info(path).patterns
    assert len(stored) == 1
    corners = [[[0, 0], *([row, column] for row in (-2, -1, 1, 2) for column in (-2, 2))]]
    rewrite(path, patterns=[corners])
    loaded, _ = load_net(path)
    assert loaded.patterns[0][0].offsets == tuple(sorted(map(tuple, corners[0])))
    with pytest.raises(UserError, match="other random patterns"):
        load_weights(make("mob_rng_1x8"), path)


def test_a_net_for_any_board_loads_on_another(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, make("mob_3x3_1x8+points+gap"))
    loaded, _ = load_net(path, game=get_game("othello"))
    assert loaded(torch.zeros(1, 3, 8, 8)).policy_logits.shape == (1, 65)
    save_net(path, make("mob_3x3_1x8"))
    with pytest.raises(UserError, match=r"policy\.dense\.weight is \[17, 512\], not \[65, 2048\]"):
        load_net(path, game=get_game("othello"))
    with pytest.raises(UserError, match="is a net for othello:size=4, not for connect4"):
        load_net(path, game=get_game("connect4"))


def test_another_form_of_the_kernel_loads_by_name(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, make("mob_rng_1x8"))
    loaded, _ = load_net(path, name="mob_rng_dense_1x8")
    assert loaded.spec.stages[0].form == "dense"
    with pytest.raises(UserError, match="holds 'mob_rng_1x8', not 'mob_rng_1x16': channels 16 and"):
        load_net(path, name="mob_rng_1x16")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mob_3x3_2x16", "channels 16 and 8"),
        ("mob_3x3_3x8", "blocks 3 and 2"),
        ("res_3x3_2x8", "block res and mob"),
        ("mob_3x3_2x8+scalar", "value scalar and wdl"),
        ("mob_3x3_2x8+mlh", "moves_left True and False"),
        ("mob_rng_2x8", "kernel rng and 3x3"),
    ],
)
def test_weights_of_another_net_are_named_and_not_loaded(
    name: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, make("mob_3x3_2x8", seed=1))
    model = make(name, seed=2)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    with pytest.raises(UserError) as error:
        load_weights(model, path)
    assert message in str(error.value)
    assert all(torch.equal(t, before[k]) for k, t in model.state_dict().items())


@pytest.mark.parametrize("damage", ["missing", "extra", "shape", "dtype", "nan"])
def test_a_file_that_lies_about_its_weights_is_refused_whole(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, make("mob_3x3_1x8", seed=1))
    description = json.dumps(read_metadata(path))
    tensors = load_file(path)
    key = "policy.conv.weight"
    if damage == "missing":
        del tensors[key]
    elif damage == "extra":
        tensors["more"] = torch.zeros(2)
    elif damage == "shape":
        tensors[key] = torch.zeros(3)
    elif damage == "dtype":
        tensors[key] = tensors[key].half()
    else:
        tensors[key][0] = float("nan")
    save_file(tensors, path, {METADATA_KEY: description})
    model = make("mob_3x3_1x8", seed=2)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(UserError, match=r"does not fit|not finite"):
        load_weights(model, path)
    with pytest.raises(UserError, match=r"does not fit|not finite"):
        load_net(path)
    assert all(torch.equal(t, before[k]) for k, t in model.state_dict().items())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "mob_9x9_1x8"}, "unknown kernel"),
        ({"name": "res_3x3_40x1000", "patterns": []}, "does not fit"),
        ({"name": "mob_3x3_1x8"}, "do not agree"),
        ({"patterns": []}, "do not agree"),
        ({"game": "chequers"}, "unknown game"),
        ({"heads": {"policy": "conv"}}, "are not those of"),
        ({"encoding": "other"}, "reads stones, not other"),
        ({"step": "many"}, "wrong at step"),
        ({"code": "import os"}, "wrong at code"),
        ({"format": 99}, "format 99"),
        ({"patterns": [[[[9, 9]]]]}, "wrong at patterns"),
        ({"patterns": [[[[0, 0], [0, 0]]]]}, "repeats a tap"),
        ({"patterns": [[[[0, 0]]], [[[0, 0]]]]}, "patterned layers do not fit"),
    ],
)
def test_a_hostile_description_is_refused(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, make("mob_rng_1x8"))
    rewrite(path, **changes)
    with pytest.raises(UserError) as error:
        load_net(path)
    assert message in str(error.value)


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    with pytest.raises(UserError, match="there is no net file"):
        load_net(path)
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(UserError, match="no zerogames net"):
        load_net(path)
    torch.save({"x": torch.zeros(1)}, path)
    with pytest.raises(UserError, match="not a whole"):
        load_net(path)
    path.write_bytes(b"")
    with pytest.raises(UserError, match="not a whole"):
        load_net(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nets") / "whole.safetensors"
    save_net(path, make("mob_rng_1x4+gap+points"))
    return path


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_refused(whole: Path, share: float) -> None:
    data = whole.read_bytes()
    cut = whole.with_name("cut.safetensors")
    cut.write_bytes(data[: int(share * len(data))])
    with pytest.raises(UserError, match="not a whole"):
        load_net(cut)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_file_loads_whole_or_is_a_user_error(whole: Path, data: st.DataObject) -> None:
    content = bytearray(whole.read_bytes())
    (length,) = struct.unpack_from("<Q", content)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, length + 40))] = data.draw(st.integers(0, 255))
    changed = whole.with_name("changed.safetensors")
    changed.write_bytes(content)
    try:
        model, _ = load_net(changed)
    except UserError:
        return
    assert all(bool(torch.isfinite(t).all()) for t in model.state_dict().values())


def test_a_description_is_read_without_torch(whole: Path) -> None:
    script = (
        "import sys; from zerogames.nets import read_net_info; "
        f"assert read_net_info({str(whole)!r}).game == 'othello:size=4'; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_net(path, make("mob_3x3_1x8"))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        save_net(path, make("mob_3x3_1x8", seed=9), metrics={"loss": float("nan")})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
