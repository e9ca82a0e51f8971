import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from zerogames import get_game
from zerogames.nets import (
    LossSettings,
    Output,
    Targets,
    build_model,
    compute_losses,
    compute_metrics,
)
from zerogames.nets.losses import (
    l2_loss,
    moves_left_loss,
    optimizer_groups,
    policy_loss,
    value_loss,
)

GAME = get_game("othello:size=4")
WDL = GAME.parse_net("res_3x3_1x8+mlh")
SCALAR = GAME.parse_net("res_3x3_1x8+scalar")
BINARY = replace(SCALAR, value="binary", value_loss="binary", value_weight=4.0)


def rows(*numbers: list[float]) -> Tensor:
    return torch.tensor(numbers)


def test_policy_loss_ignores_illegal_actions() -> None:
    logits = rows([0.0, 1.0, 50.0])
    target = rows([0.25, 0.75, -1.0])
    log_z = math.log(1 + math.e)
    expected = 0.25 * log_z + 0.75 * (log_z - 1)
    assert policy_loss(logits, target).item() == pytest.approx(expected)
    legal = torch.tensor([[True, True, False]])
    assert policy_loss(logits, target.clamp(min=0), legal).item() == pytest.approx(expected)
    assert policy_loss(logits, target.clamp(min=0)).item() > 40


def test_illegal_logits_get_no_gradient() -> None:
    logits = rows([0.0, 1.0, 5.0]).requires_grad_()
    policy_loss(logits, rows([0.0, 1.0, -1.0])).backward()
    assert logits.grad is not None
    assert logits.grad[0, 2] == 0
    assert logits.grad[0, 0] > 0


def test_value_losses_follow_the_net() -> None:
    logits = rows([0.0, 0.0, math.log(2)])
    assert value_loss(logits, rows([0, 0, 1.0]), WDL).item() == pytest.approx(math.log(2))
    half = torch.tensor([[math.atanh(0.5)]])
    assert value_loss(half, rows([1.0, 0, 0]), SCALAR).item() == pytest.approx(0.25)
    assert value_loss(half, rows([0, 1.0, 0]), SCALAR).item() == pytest.approx(0.25)
    quarter = torch.tensor([[-math.log(3)]])
    assert value_loss(quarter, rows([1.0, 0, 0]), BINARY).item() == pytest.approx(math.log(4))
    squared = replace(BINARY, value_loss="mse")
    assert value_loss(quarter, rows([1.0, 0, 0]), squared).item() == pytest.approx(0.5625)


def test_moves_left_is_quadratic_then_linear() -> None:
    zero = torch.zeros(1)
    assert moves_left_loss(zero, torch.tensor([10.0])).item() == pytest.approx(0.125)
    assert moves_left_loss(zero, torch.tensor([30.0])).item() == pytest.approx(0.125 + 0.5)
    assert moves_left_loss(zero, torch.tensor([30.0]), "mse").item() == pytest.approx(2.25)


def test_the_total_weighs_the_parts() -> None:
    output = Output(torch.zeros(1, 17), torch.zeros(1, 1), None)
    policy = torch.full((1, 17), 1 / 17)
    losses = compute_losses(output, Targets(policy=policy, value=rows([1.0, 0, 0])), BINARY)
    assert losses.value.item() == pytest.approx(math.log(2))
    assert losses.total.item() == pytest.approx(math.log(17) + 4 * math.log(2))
    output = Output(torch.zeros(1, 17), torch.zeros(1, 3), torch.zeros(1))
    targets = Targets(policy=policy, value=rows([1.0, 0, 0]), moves_left=torch.tensor([10.0]))
    losses = compute_losses(output, targets, WDL, LossSettings(moves_left_weight=2.0))
    assert losses.total.item() == pytest.approx(math.log(17) + math.log(3) + 0.25)


def test_metrics_count_legal_argmax_and_squared_error() -> None:
    output = Output(rows([9.0, 2.0, 1.0], [0.0, 1.0, 2.0]), torch.zeros(2, 3), None)
    targets = Targets(
        policy=rows([-1.0, 0.6, 0.4], [0.5, 0.3, 0.2]), value=rows([1.0, 0, 0], [0, 1.0, 0])
    )
    metrics = compute_metrics(output, targets, WDL)
    assert metrics.policy_accuracy.item() == pytest.approx(0.5)
    assert metrics.value_mse.item() == pytest.approx(0.5)
    assert metrics.value_mse_quarter.item() == pytest.approx(0.125)


@pytest.mark.parametrize("convention", ["lc0", "keras"])
def test_weight_decay_equals_the_l2_loss(convention: str) -> None:
    spec = replace(WDL, convention=convention, l2=0.01)
    model = build_model(spec, GAME)
    l2_loss(model).backward()
    decayed = {
        id(parameter): group["weight_decay"]
        for group in optimizer_groups(model)
        for parameter in group["params"]  # type: ignore[attr-defined]
    }
    assert len(decayed) == len(list(model.parameters()))
    for parameter in model.parameters():
        grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(grad, decayed[id(parameter)] * parameter.detach())
    biases = {name for name, p in model.named_parameters() if decayed[id(p)] and "bias" in name}
    assert biases == ({"policy.dense.bias", "value.output.bias"} if convention == "lc0" else set())
