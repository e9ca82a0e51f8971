"""Heads for training only: what Go nets learn of the end of games."""

from pathlib import Path

import numpy as np
import pytest
import torch

from zerogames.data.ends import end_columns
from zerogames.data.record import GameRecord
from zerogames.data.shard import write_shard
from zerogames.errors import UserError
from zerogames.evaluate import open_evaluator
from zerogames.game import Game
from zerogames.nets import build_model, load_net, save_net
from zerogames.registry import get_game
from zerogames.train import ReplayWindow, Trainer, TrainerSettings, WindowSettings

NET = "res_3x3_2x16+leela-18+ownership+score"


@pytest.fixture(scope="module")
def game() -> Game:
    return get_game("go:size=5,komi=0.5")


def random_record(game: Game, seed: int, *, passes: bool) -> GameRecord:
    """Random moves, then two passes or a resignation."""
    rng = np.random.default_rng(seed)
    state, actions = game.initial_state(), []
    for _ in range(20):
        actions.append(int(rng.choice(state.legal_actions()[:-1])))
        state = state.play(actions[-1])
    if passes:
        actions += [25, 25]
    return GameRecord(
        game=game.spec.identity,
        actions=np.array(actions, np.int32),
        result=(state.play(25).play(25).result if passes else 1.0),
    )


def test_batches_tell_who_owns_what_in_the_end(game: Game, tmp_path: Path) -> None:
    played, resigned = (random_record(game, 1, passes=flag) for flag in (True, False))
    write_shard(tmp_path / "a.parquet", [played, resigned])
    final = played.final_state(game)
    owner, score = final.ownership().ravel(), final.score  # type: ignore[attr-defined]
    assert set(owner) == {-1, 0, 1} or len(set(owner)) > 1
    columns = end_columns(game)
    settings = WindowSettings(batch_size=64)
    with ReplayWindow(game, "leela-18", settings, with_ends=True) as window:
        window.add(tmp_path / "a.parquet")
        batch = window.draw()
    known = batch.ends_known == 1
    assert 10 < known.sum() < 54
    assert not batch.ends[~known].any()
    assert (batch.plies[~known] < 20).all()
    for row in np.flatnonzero(known):
        sign = 1 if batch.plies[row] % 2 == 0 else -1
        ends = batch.ends[row]
        assert ends[columns["score"]] == pytest.approx([sign * score])
        turned = [
            symmetry.planes(owner.reshape(5, 5)).ravel() * sign for symmetry in game.symmetries
        ]
        assert any(np.array_equal(ends[columns["ownership"]], board) for board in turned)


def test_ownership_is_turned_with_the_planes(game: Game, tmp_path: Path) -> None:
    # Black's stones of the last position are Black's in the end, whatever the symmetry.
    record = random_record(game, 2, passes=True)
    write_shard(tmp_path / "a.parquet", [record])
    columns = end_columns(game)["ownership"]
    with ReplayWindow(game, "leela-18", WindowSettings(batch_size=256), with_ends=True) as window:
        window.add(tmp_path / "a.parquet")
        batch = window.draw()
    rows = np.flatnonzero(batch.plies == 21)  # after the first pass, White to move
    assert len(rows) > 4
    for row in rows:
        own, other = batch.planes[row, 0].ravel() > 0, batch.planes[row, 8].ravel() > 0
        assert (batch.ends[row, columns][own] == 1).all()
        assert (batch.ends[row, columns][other] == -1).all()


def test_heads_for_training_learn_and_change_no_play(game: Game, tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [random_record(game, 1, passes=True)])
    model = build_model(game.parse_net(NET), game, seed=1)
    settings = TrainerSettings(learning_rate=1e-2, warmup_steps=0, threads=1)
    trainer = Trainer(model, game, settings)
    drawing = WindowSettings(batch_size=32, symmetries=False)
    with ReplayWindow(game, "leela-18", drawing, with_ends=True) as window:
        window.add(tmp_path / "a.parquet")
        reports = [trainer.train_step(window.draw()) for _ in range(40)]
    assert reports[-1]["ownership_loss"] < 0.7 * reports[0]["ownership_loss"]
    assert reports[-1]["score_loss"] < reports[0]["score_loss"]
    playing = trainer.playing_model()
    planes = torch.from_numpy(np.stack([game.initial_state().observe("leela-18")]))
    assert playing(planes).ends is None
    save_net(tmp_path / "net.safetensors", playing)
    again, info = load_net(tmp_path / "net.safetensors")
    assert info.heads["ownership"] == "for training only"
    logits = playing(planes).policy_logits.detach()
    assert torch.equal(again(planes).policy_logits, logits)
    exported = open_evaluator(game, kind="onnx", net=tmp_path / "net.safetensors", threads=1)
    found = exported.evaluate(planes.numpy())
    assert found.policy_logits == pytest.approx(logits.numpy(), abs=1e-4)


def test_other_games_have_no_such_heads() -> None:
    with pytest.raises(UserError, match="unknown net option 'ownership'"):
        get_game("chess").parse_net("res_3x3_2x16+ownership")
