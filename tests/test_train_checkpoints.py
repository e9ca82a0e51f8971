"""Which checkpoints are kept, and what is taken when the newest is damaged."""

from pathlib import Path

import pytest

from zerogames.errors import UserError
from zerogames.nets import build_model
from zerogames.registry import get_game
from zerogames.train import CheckpointFolder, Trainer, TrainerSettings


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    game = get_game("connect4")
    return Trainer(build_model(game.parse_net("res_3x3_1x8"), game), game)


def save(folder: CheckpointFolder, trainer: Trainer, *steps: int) -> None:
    for step in steps:
        trainer.step = step
        folder.save(trainer, {"note": step})


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_the_last_and_the_best_are_kept(trainer: Trainer, tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, keep_last=2, keep_best=1)
    save(folder, trainer, 10, 20)
    folder.record_score(10, 50.0)
    folder.record_score(20, -3.0)
    save(folder, trainer, 30, 40)
    assert names(tmp_path) == ["step-00000010", "step-00000030", "step-00000040"]
    folder.record_score(30, 60.0)
    folder.record_score(20, 1e9)  # is gone
    save(folder, trainer, 50)
    assert names(tmp_path) == ["step-00000030", "step-00000040", "step-00000050"]
    assert folder.best == tmp_path / "step-00000030"
    assert folder.resume().trainer.step == 50  # type: ignore[union-attr]


def test_damaged_checkpoint_gives_way_to_the_one_before(trainer: Trainer, tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    assert folder.resume() is None
    save(folder, trainer, 10, 20, 30)
    (tmp_path / "step-00000030" / "trainer.json").unlink()
    tensors = tmp_path / "step-00000020" / "state.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:-1])
    resumed = folder.resume()
    assert resumed is not None
    assert (resumed.trainer.step, resumed.extra) == (10, {"note": 10})
    assert "step-00000030" in resumed.refused[0]
    assert "step-00000020" in resumed.refused[1]
    assert names(tmp_path) == ["damaged-step-00000020", "damaged-step-00000030", "step-00000010"]
    tensors = tmp_path / "step-00000010" / "net.safetensors"
    tensors.write_bytes(b"")
    with pytest.raises(UserError, match=r"no checkpoint is whole: .*step-00000010"):
        folder.resume()


def test_checkpoint_that_does_not_fit_is_not_damaged(trainer: Trainer, tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    save(folder, trainer, 10)
    with pytest.raises(UserError, match="made by adamw, not by sgd"):
        folder.resume(settings=TrainerSettings(optimizer="sgd"))
    with pytest.raises(UserError, match="net for connect4, not for othello"):
        folder.resume(game=get_game("othello"))
    assert names(tmp_path) == ["step-00000010"]


def test_what_a_killed_process_left_is_cleared(trainer: Trainer, tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    save(folder, trainer, 10, 20)
    (tmp_path / "step-00000020").rename(tmp_path / ".step-00000020.old")
    (tmp_path / ".step-00000030.123.tmp").mkdir()
    (tmp_path / ".step-00000030.123.tmp" / "net.safetensors").write_bytes(b"half")
    again = CheckpointFolder(tmp_path)
    assert names(tmp_path) == ["step-00000010", "step-00000020"]
    assert again.resume().trainer.step == 20  # type: ignore[union-attr]
