"""Every kind of net gives the same answers in onnxruntime as in torch."""

from pathlib import Path

import numpy as np
import pytest
import torch

import zerogames
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.onnx_file import export_onnx
from zerogames.game import Game
from zerogames.nets import Model, build_model

NETS = [
    *[
        f"{block}_{kernel}_2x12"
        for block in ("res", "mob", "cnx")
        for kernel in ("3x3", "5x5", "rng")
    ],
    "res_3x3_2x12+conv",
    "res_3x3_2x12+conv+scalar",
    "mob_3x3_2x12+scalar+mlh",
    "res_3x3_2x12+wdl+mlh",
]


def trained_looking(model: Model) -> Model:
    """Batch norms that do something: a new net's would hide mistakes in folding."""
    generator = torch.Generator().manual_seed(1)
    for name, tensor in model.state_dict().items():
        if "running_var" in name:
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif "norm" in name or name.endswith("bias") or "stem.1" in name:
            tensor.copy_(torch.randn(tensor.shape, generator=generator) / 4 + ("weight" in name))
    return model.eval()


def random_planes(game: Game, batch: int) -> np.typing.NDArray[np.float32]:
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(batch):
        state = game.initial_state()
        for _ in range(rng.integers(0, 20)):
            if state.result is None:
                state = state.play(int(rng.choice(state.legal_actions())))
        rows.append(state.observe(next(iter(game.encodings))))
    return np.stack(rows)


def assert_same_answers(identity: str, name: str, folder: Path) -> None:
    game = zerogames.get_game(identity)
    model = trained_looking(build_model(game.parse_net(name), game, seed=3))
    export_onnx(model, game, folder / "net.onnx")
    evaluator = OnnxEvaluator(folder / "net.onnx", version="x", encoding=model.spec.encoding)
    for batch in (1, 7):
        planes = random_planes(game, batch)
        ours = evaluator.evaluate(planes)
        with torch.inference_mode():
            policy, wdl, moves_left = model.evaluate(torch.from_numpy(planes))
        assert ours.policy_logits.shape == (batch, game.spec.action_size)
        np.testing.assert_allclose(ours.policy_logits, policy.numpy(), rtol=1e-4, atol=2e-5)
        np.testing.assert_allclose(ours.wdl, wdl.numpy(), atol=1e-5)
        np.testing.assert_allclose(ours.wdl.sum(axis=1), 1, atol=1e-5)
        assert (ours.moves_left is None) == (moves_left is None)
        if ours.moves_left is not None and moves_left is not None:
            np.testing.assert_allclose(ours.moves_left, moves_left.numpy(), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("name", NETS)
def test_nets_of_the_general_form(name: str, tmp_path: Path) -> None:
    assert_same_answers("othello:size=6", name, tmp_path)


def test_the_default_net_of_every_game(tmp_path: Path) -> None:
    for name in zerogames.game_names():
        assert_same_answers(name, zerogames.get_game(name).default_net, tmp_path)
