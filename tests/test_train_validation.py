"""Metrics on a validation set, by hand and by phase."""

import numpy as np
import pytest
import torch

from zerogames.data.sample import SampleBatch
from zerogames.nets import build_model
from zerogames.registry import get_game
from zerogames.train import validate


@pytest.mark.parametrize("net", ["res_3x3_1x8", "res_3x3_1x8+scalar+mlh"])
def test_metrics_are_means_over_positions_and_phases(net: str) -> None:
    game = get_game("connect4")
    model = build_model(game.parse_net(net), game, seed=3).train()
    rng = np.random.default_rng(0)
    size = 60
    batch = SampleBatch.empty(size, game.spec.observation_shape, 7)
    batch.planes[:] = rng.integers(0, 2, batch.planes.shape)
    batch.legal[:] = rng.random((size, 7)) < 0.6
    batch.legal[:, 3] = True
    policy = rng.random((size, 7)) * batch.legal
    batch.policy[:] = policy / policy.sum(1, keepdims=True)
    batch.result[:] = np.eye(3)[rng.integers(0, 3, size)]
    batch.search[:] = 1 / 3
    batch.weights[:] = rng.uniform(0.5, 2, size)
    batch.plies[:] = rng.integers(0, 31, size)
    batch.moves_left[:] = 30 - batch.plies
    batch.moves_left[:10] = -1
    found = validate(model, [batch[:25], batch[25:]])
    assert model.training

    model.eval()
    with torch.no_grad():
        logits, wdl, plies = model.evaluate(torch.from_numpy(batch.planes))
    hits = np.where(batch.legal, logits.numpy(), -np.inf).argmax(1) == batch.policy.argmax(1)
    errors = (wdl[:, 0] - wdl[:, 2]).numpy() - (batch.result[:, 0] - batch.result[:, 2])
    phase = np.where(batch.moves_left < 0, -1, np.minimum(2, batch.plies // 10))
    for prefix, rows in (
        ("", phase > -2), ("opening/", phase == 0), ("middle/", phase == 1), ("end/", phase == 2)
    ):  # fmt: skip
        weights = batch.weights[rows]
        mse = np.average(errors[rows] ** 2, weights=weights)
        assert found[f"{prefix}positions"] == rows.sum()
        accuracy = np.average(hits[rows], weights=weights)
        assert found[f"{prefix}policy_accuracy"] == pytest.approx(accuracy, abs=1e-5)
        assert found[f"{prefix}value_mse"] == pytest.approx(mse, abs=1e-5)
        assert found[f"{prefix}value_mse_quarter"] == pytest.approx(mse / 4, abs=1e-5)
        parts = found[f"{prefix}policy_loss"] + found[f"{prefix}value_loss"]
        if plies is not None:
            known = rows & (batch.moves_left >= 0)
            gaps = np.abs(plies.numpy() - batch.moves_left)[known] / 20
            huber = np.where(gaps < 0.5, gaps**2 / 2, 0.5 * (gaps - 0.25))
            loss = np.average(huber, weights=batch.weights[known])
            assert found[f"{prefix}moves_left_loss"] == pytest.approx(loss, rel=1e-4)
        else:
            assert found[f"{prefix}loss"] == pytest.approx(parts, rel=1e-5)
