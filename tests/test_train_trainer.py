"""The trainer: it learns, averages, follows its schedule, and resumes bit for bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from zerogames.data.sample import SampleBatch
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import Model, build_model
from zerogames.registry import get_game
from zerogames.train import Trainer, TrainerSettings
from zerogames.train.schedule import learning_rate_at
from zerogames.train.targets import make_targets
from zerogames.train.trainer import _autocast_type


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> object:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def game() -> Game:
    return get_game("connect4")


def make_model(game: Game, name: str = "res_3x3_2x8+mlh") -> Model:
    return build_model(game.parse_net(name), game, seed=1)


def make_batch(game: Game, seed: int, size: int = 32) -> SampleBatch:
    rng = np.random.default_rng(seed)
    batch = SampleBatch.empty(size, game.spec.observation_shape, game.spec.action_size)
    batch.planes[:] = rng.integers(0, 2, batch.planes.shape)
    batch.policy[:] = rng.dirichlet(np.full(game.spec.action_size, 0.3), size)
    batch.legal[:] = True
    batch.result[:] = np.eye(3)[rng.integers(0, 3, size)]
    batch.search[:] = rng.dirichlet(np.ones(3), size)
    batch.moves_left[:] = rng.integers(-1, 20, size)
    batch.weights[:] = 1
    batch.plies[:] = rng.integers(0, 40, size)
    return batch


def run(trainer: Trainer, game: Game, steps: range) -> list[dict[str, float]]:
    return [trainer.train_step(make_batch(game, step)) for step in steps]


def same_weights(one: Model, other: Model) -> bool:
    theirs = other.state_dict()
    return all(torch.equal(tensor, theirs[name]) for name, tensor in one.state_dict().items())


@pytest.mark.parametrize(
    ("optimizer", "precision"), [("sgd", "fp32"), ("adamw", "fp32"), ("adamw", "bf16")]
)
def test_trainer_learns_a_batch(game: Game, optimizer: str, precision: str) -> None:
    rate = 0.05 if optimizer == "sgd" else 0.01
    settings = TrainerSettings(
        optimizer=optimizer,  # type: ignore[arg-type]
        precision=precision,  # type: ignore[arg-type]
        learning_rate=rate,
        warmup_steps=0,
    )
    trainer = Trainer(make_model(game), game, settings)
    batch = make_batch(game, 0)
    first = trainer.train_step(batch)
    for _ in range(99):
        last = trainer.train_step(batch)
    assert last["policy_accuracy"] > 0.9 > first["policy_accuracy"]
    assert last["value_mse"] < 0.1 < first["value_mse"]
    assert last["moves_left_loss"] < 0.5 * first["moves_left_loss"]
    assert trainer.step == 100
    assert trainer.samples == 100 * 32


@pytest.mark.parametrize(
    "settings",
    [
        TrainerSettings(averaging="ema", ema_decay=0.9, l2=1e-4, clip_norm=1.0),
        TrainerSettings(optimizer="sgd", learning_rate=0.02, averaging="swa", swa_period=3),
        TrainerSettings(schedule="cosine", total_steps=12, warmup_steps=4, averaging="none"),
    ],
)
@pytest.mark.parametrize("net", ["res_3x3_2x8", "mob_5x5_2x8+mlh"])
def test_resumed_trainer_gives_the_same_curve_bit_for_bit(
    game: Game, tmp_path: Path, settings: TrainerSettings, net: str
) -> None:
    whole = Trainer(make_model(game, net), game, settings)
    curve = run(whole, game, range(10))
    half = Trainer(make_model(game, net), game, settings)
    run(half, game, range(5))
    half.save(tmp_path / "step-00000005", {"window": {"draws": 5, "shards": ["a"]}})
    resumed, extra = Trainer.load(tmp_path / "step-00000005")
    assert extra == {"window": {"draws": 5, "shards": ["a"]}}
    assert (resumed.step, resumed.samples, resumed.settings) == (5, 160, settings)
    assert run(resumed, game, range(5, 10)) == curve[5:]
    assert same_weights(resumed.model, whole.model)
    assert same_weights(resumed.playing_model(), whole.playing_model())


def test_playing_model_has_the_average_and_leaves_training_alone(game: Game) -> None:
    settings = TrainerSettings(averaging="ema", ema_decay=0.5, warmup_steps=0)
    trainer = Trainer(make_model(game), game, settings)
    wanted = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    for step in range(4):
        trainer.train_step(make_batch(game, step))
        decay = min(0.5, (1 + step) / (10 + step))
        for name, tensor in trainer.model.state_dict().items():
            wanted[name] = decay * wanted[name] + (1 - decay) * tensor
    before = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    playing = trainer.playing_model()
    assert not playing.training
    for name, tensor in playing.state_dict().items():
        assert torch.allclose(tensor, wanted[name], atol=1e-6), name
    playing = trainer.playing_model([make_batch(game, 9)])
    planes = torch.from_numpy(make_batch(game, 9).planes)
    stem = playing.stem[1]
    assert torch.allclose(stem.running_mean, playing.stem[0](planes).mean((0, 2, 3)), atol=1e-6)
    assert all(torch.equal(before[name], now) for name, now in trainer.model.state_dict().items())


def test_running_statistics_start_as_plain_means(game: Game) -> None:
    settings = TrainerSettings(learning_rate=1e-9, weight_decay=0, warmup_steps=0, precision="fp32")
    trainer = Trainer(make_model(game), game, settings)
    stem = trainer.model.stem[0]
    means = []
    for step in range(5):
        batch = make_batch(game, step)
        means.append(stem(torch.from_numpy(batch.planes)).mean((0, 2, 3)))
        trainer.train_step(batch)
    running = trainer.model.stem[1].running_mean
    assert torch.allclose(running, torch.stack(means).mean(0), atol=1e-5)


def test_a_trained_net_keeps_its_running_statistics(game: Game) -> None:
    model = make_model(game)
    norm = model.stem[1]
    norm.running_mean.fill_(50.0)
    trainer = Trainer(model, game, TrainerSettings(learning_rate=1e-9))
    trainer.train_step(make_batch(game, 0))
    assert torch.all((norm.running_mean > 49) & (norm.running_mean < 50))


def test_splits_give_the_step_of_the_whole_batch_with_frozen_norms(game: Game) -> None:
    settings = TrainerSettings(
        optimizer="sgd",
        learning_rate=0.1,
        freeze_norms=True,
        warmup_steps=0,
        clip_norm=10,
        precision="fp32",
    )
    models = []
    for splits in (1, 4):
        trainer = Trainer(make_model(game, "mob_3x3_2x8"), game, replace(settings, splits=splits))
        norms = trainer.model.blocks[0].norm1.running_mean.clone()
        report = trainer.train_step(make_batch(game, 0))
        assert torch.equal(norms, trainer.model.blocks[0].norm1.running_mean)
        models.append((trainer.model, report))
    for name, tensor in models[0][0].state_dict().items():
        assert torch.allclose(tensor, models[1][0].state_dict()[name], atol=1e-5), name
    assert models[0][1] == pytest.approx(models[1][1], rel=1e-4)


def test_value_target_mixes_result_and_search(game: Game) -> None:
    batch = make_batch(game, 0)
    mixed = make_targets(batch, 0.25).value.numpy()
    assert mixed == pytest.approx(0.75 * batch.result + 0.25 * batch.search, abs=1e-6)


def test_unknown_moves_left_and_weights_count_as_they_should(game: Game) -> None:
    settings = TrainerSettings(freeze_norms=True, warmup_steps=0)
    batch = make_batch(game, 0)
    batch.weights[16:] = 0
    batch.moves_left[:8] = -1
    report = Trainer(make_model(game), game, settings).train_step(batch)
    half = batch[:16]
    assert report == pytest.approx(
        Trainer(make_model(game), game, settings).train_step(half), rel=1e-5
    )
    half.moves_left[:8] = 1000
    assert (
        report["moves_left_loss"]
        < 1
        < Trainer(make_model(game), game).train_step(half)["moves_left_loss"]
    )


def test_schedules(game: Game) -> None:
    steps = TrainerSettings(
        schedule="steps", learning_rate=0.02, warmup_steps=250, boundaries=(100_000, 130_000),
        factors=(0.1, 0.25),
    )  # fmt: skip
    rates = [learning_rate_at(steps, step) for step in (0, 125, 250, 99_999, 100_000, 130_000)]
    assert rates == pytest.approx([0.001, 0.0105, 0.02, 0.02, 0.002, 0.0005])
    cosine = TrainerSettings(schedule="cosine", learning_rate=1e-3, warmup_steps=0, total_steps=100)
    rates = [learning_rate_at(cosine, step) for step in (0, 50, 100, 1000)]
    assert rates == pytest.approx([1e-3, 5.5e-4, 1e-4, 1e-4])
    assert learning_rate_at(cosine, 7, progress=0.5) == pytest.approx(5.5e-4)
    trainer = Trainer(make_model(game), game, replace(cosine, total_steps=4))
    reported = [trainer.train_step(make_batch(game, 0))["learning_rate"] for _ in range(5)]
    assert reported[0] == pytest.approx(1e-3)
    assert reported[4] == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "batch_size must be 1 or more"),
        ({"batch_size": 10, "splits": 3}, "does not divide"),
        ({"learning_rate": 0.0}, "above 0"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"ema_decay": 1.0}, "below 1"),
        ({"schedule": "steps"}, "needs boundaries"),
        ({"schedule": "cosine"}, "total_steps"),
        ({"precision": "fp16"}, "needs a GPU"),
    ],
)
def test_settings_without_sense_are_refused(
    game: Game, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        Trainer(make_model(game), game, TrainerSettings(**changes), "cpu")  # type: ignore[arg-type]


def test_loss_that_is_not_finite_stops(game: Game) -> None:
    trainer = Trainer(make_model(game), game)
    batch = make_batch(game, 0)
    batch.planes[:] = np.inf
    with pytest.raises(UserError, match="step 1: the loss is not finite"):
        trainer.train_step(batch)


@pytest.mark.parametrize("name", ["net.safetensors", "state.safetensors", "trainer.json"])
def test_damaged_checkpoint_is_refused_by_name(game: Game, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "step-00000001"
    trainer = Trainer(make_model(game), game)
    trainer.train_step(make_batch(game, 0))
    trainer.save(folder)
    whole = (folder / name).read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damage in (whole[: len(whole) // 2], bytes(flipped), b"", None):
        (folder / name).unlink()
        if damage is not None:
            (folder / name).write_bytes(damage)
        with pytest.raises(UserError, match="step-00000001"):
            Trainer.load(folder)
        (folder / name).write_bytes(whole)
    Trainer.load(folder)


def test_saving_again_replaces_and_leaves_nothing_aside(game: Game, tmp_path: Path) -> None:
    trainer = Trainer(make_model(game), game)
    for step in range(2):
        trainer.train_step(make_batch(game, step))
        trainer.save(tmp_path / "last")
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
    assert Trainer.load(tmp_path / "last")[0].step == 2


def test_l2_and_decoupled_decay_shrink_the_weights_they_should(game: Game) -> None:
    plain = TrainerSettings(
        optimizer="sgd", learning_rate=0.1, momentum=0.0, nesterov=False, warmup_steps=0,
        weight_decay=0.0,
    )  # fmt: skip
    start = make_model(game).state_dict()
    ends = []
    for changes in ({}, {"l2": 1e-2}, {"weight_decay": 2e-2}):
        trainer = Trainer(make_model(game), game, replace(plain, **changes))  # type: ignore[arg-type]
        trainer.train_step(make_batch(game, 0))
        ends.append(trainer.model.state_dict())
    shrunk = 0
    for name, before in start.items():
        for other in ends[1:]:
            moved = other[name] - ends[0][name]
            if name.endswith("weight") and "norm" not in name and name != "stem.1.weight":
                assert torch.allclose(moved, -0.1 * 2e-2 * before, atol=1e-6), name
                shrunk += 1
            elif "output.bias" not in name and "dense.bias" not in name:
                assert not moved.abs().max() > 1e-6, name
    assert shrunk > 10


def test_swa_follows_snapshots_only(game: Game) -> None:
    settings = TrainerSettings(averaging="swa", swa_period=3, swa_scale=2.0, warmup_steps=0)
    trainer = Trainer(make_model(game), game, settings)
    name = "stem.0.weight"
    wanted = trainer.model.state_dict()[name].clone()
    snapshots = 0
    for step in range(1, 11):
        trainer.train_step(make_batch(game, step))
        if step % 3 == 0:
            share = max(1 / 2, 1 / (snapshots + 1))
            wanted += share * (trainer.model.state_dict()[name] - wanted)
            snapshots += 1
        assert torch.allclose(trainer.average.tensors[name], wanted, atol=1e-6)


@pytest.mark.parametrize("net", ["mob_3x3_2x16", "cnx_3x3_2x16"])
def test_depthwise_nets_learn_in_bf16_as_in_fp32(game: Game, net: str) -> None:
    curves = []
    for precision in ("fp32", "bf16"):
        settings = TrainerSettings(warmup_steps=0, precision=precision)  # type: ignore[arg-type]
        trainer = Trainer(make_model(game, net), game, settings, "cpu")
        curves.append(
            [trainer.train_step(make_batch(game, step % 2))["loss"] for step in range(40)]
        )
    plain, mixed = np.array(curves)
    assert plain[-1] < 0.8 * plain[0]
    np.testing.assert_allclose(mixed, plain, rtol=0.05)


def test_cpus_with_instructions_for_it_train_in_bf16_unless_told(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    for fast in (True, False):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda fast=fast: fast)
        for net in ("res_3x3_1x8", "mob_3x3_1x8", "cnx_3x3_1x8"):
            spec = game.parse_net(net)
            for precision, half in (("auto", fast), ("fp32", False), ("bf16", True)):
                settings = TrainerSettings(precision=precision)  # type: ignore[arg-type]
                kind = _autocast_type(settings, torch.device("cpu"), spec)
                assert kind == (torch.bfloat16 if half else None)
        dense = game.parse_net("mob_3x3_dense_1x8")
        assert _autocast_type(TrainerSettings(), torch.device("cpu"), dense) is None


@pytest.mark.parametrize("net", ["res_3x3_2x8+mlh", "mob_5x5_2x8", "cnx_3x3_2x8"])
def test_nets_train_in_bf16(game: Game, net: str) -> None:
    plain, mixed = (
        Trainer(make_model(game, net), game, TrainerSettings(warmup_steps=0, precision=p), "cpu")
        for p in ("fp32", "bf16")
    )
    for step in range(3):
        batch = make_batch(game, step)
        ours, theirs = mixed.train_step(batch), plain.train_step(batch)
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=0.03)
        assert ours["loss"] != theirs["loss"]
    assert all(part.dtype == torch.float32 for part in mixed.model.state_dict().values())
