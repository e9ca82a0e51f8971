"""Several learners make the same steps as one with the whole batch."""

from pathlib import Path

import numpy as np
import pytest
import torch

from zerogames.data.record import GameRecord
from zerogames.data.shard import write_shard
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import build_model
from zerogames.registry import get_game
from zerogames.train import (
    LearnJob,
    Trainer,
    TrainerSettings,
    WindowSettings,
    learn,
    learn_together,
)

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.xdist_group("ray"),
]


def random_record(game: Game, seed: int) -> GameRecord:
    rng = np.random.default_rng(seed)
    state, actions = game.initial_state(), []
    while state.result is None:
        actions.append(int(rng.choice(state.legal_actions())))
        state = state.play(actions[-1])
    return GameRecord(
        game=game.spec.identity, actions=np.array(actions, np.int32), result=state.result
    )


def make_job(folder: Path) -> LearnJob:
    game = get_game("connect4")
    shard = folder / "a.parquet"
    write_shard(shard, [random_record(game, seed) for seed in range(20)])
    model = build_model(game.parse_net("mob_3x3_2x8"), game, seed=1)
    settings = TrainerSettings(
        batch_size=32, optimizer="sgd", learning_rate=0.05, freeze_norms=True, warmup_steps=2,
        clip_norm=1.0, threads=1, precision="fp32",
    )  # fmt: skip
    threads = torch.get_num_threads()
    Trainer(model, game, settings, "cpu").save(folder / "start", {"note": 7})
    torch.set_num_threads(threads)
    return LearnJob(
        checkpoint=folder / "start",
        result=folder / "one",
        shards=(shard,),
        steps=5,
        window=WindowSettings(batch_size=32),
        seed=3,
    )


def test_two_learners_are_one_with_the_double_batch(tmp_path: Path) -> None:
    job = make_job(tmp_path)
    one = learn(job)
    together = LearnJob(**{**vars(job), "result": tmp_path / "two"})
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        two = learn_together(together, learners=2, cpus_per_learner=0.5)
    finally:
        ray.shutdown()
    assert two == pytest.approx(one, abs=1e-4)
    alone, _ = Trainer.load(job.result)
    joined, extra = Trainer.load(together.result)
    assert extra == {"note": 7, "report": two}
    assert (joined.step, joined.samples) == (alone.step, alone.samples) == (5, 160)
    start, _ = Trainer.load(job.checkpoint)
    moved = 0.0
    for name, tensor in alone.model.state_dict().items():
        assert torch.allclose(tensor, joined.model.state_dict()[name], atol=1e-4), name
        moved = max(moved, float((tensor - start.model.state_dict()[name]).abs().max()))
    assert moved > 1e-2  # the steps were no small ones
    for name, tensor in alone.average.tensors.items():
        assert torch.allclose(tensor, joined.average.tensors[name], atol=1e-4), name


def test_a_batch_must_divide_among_the_learners(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="32 does not divide among 3"):
        learn_together(make_job(tmp_path), learners=3)
