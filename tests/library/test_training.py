"""Batches from games in memory, and a net trained by the names of the package root."""

from pathlib import Path

import numpy as np
import pytest

from zerogames import (
    Trainer,
    TrainerSettings,
    UserError,
    get_game,
    load_net,
    make_batch,
    play_games,
    save_net,
    search_preset,
)


def test_a_batch_holds_the_positions_and_targets_of_the_games() -> None:
    net = load_net("res_3x3_1x8", "connect4")
    records = list(play_games(net, 2, search=search_preset("alphazero", simulations=8)))
    batch = make_batch(net, records)
    plies = [len(record.actions) for record in records]
    assert len(batch) == sum(plies)
    row = 0
    for record in records:
        state = get_game("connect4").initial_state()
        assert record.search is not None
        for ply, action in enumerate(record.actions.tolist()):
            np.testing.assert_array_equal(batch.planes[row], state.observe(net.info.encoding))
            actions, _, targets = record.search.policy(ply)
            np.testing.assert_allclose(batch.policy[row, actions], targets, atol=1e-6)
            sign = 1 if state.to_play == 0 else -1
            assert batch.result[row, 0] - batch.result[row, 2] == sign * record.result
            state = state.play(action)
            row += 1


def test_a_drawn_batch_has_its_size_and_depends_on_the_seed() -> None:
    net = load_net("res_3x3_1x8", "connect4")
    records = list(play_games(net, 2, search=search_preset("alphazero", simulations=8)))
    first = make_batch(net, records, 8, seed=1)
    assert len(first) == 8
    np.testing.assert_array_equal(first.planes, make_batch(net, records, 8, seed=1).planes)
    assert not np.array_equal(first.planes, make_batch(net, records, 8, seed=2).planes)
    with pytest.raises(UserError, match="positions to learn from, not 1000"):
        make_batch(net, records, 1000)
    with pytest.raises(UserError, match="no position"):
        make_batch(net, [])


def test_a_net_learns_its_games_and_is_saved(tmp_path: Path) -> None:
    net = load_net("res_3x3_1x8", "connect4")
    records = list(play_games(net, 4, search=search_preset("alphazero", simulations=8)))
    batch = make_batch(net, records)
    trainer = Trainer(net.model, net.game, TrainerSettings(warmup_steps=0, learning_rate=0.01))
    losses = [trainer.train_step(batch)["loss"] for _ in range(30)]
    assert losses[-1] < losses[0]
    path = tmp_path / "learned.safetensors"
    save_net(str(path), trainer.playing_model([batch]), step=trainer.step)
    learned = load_net(path)
    assert learned.info.step == 30
    assert learned.name == net.name
