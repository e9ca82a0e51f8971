from pathlib import Path

import pytest

from zerogames import get_game
from zerogames.cli import main
from zerogames.nets import build_model, save_net, summarize


def test_summary_counts_by_hand() -> None:
    game = get_game("othello:size=4")
    summary = summarize(build_model(game.parse_net("mob_3x3_2x4+x2"), game))
    squeeze = 4 * 2 + 2 + 2 * 8 + 8
    block = 4 * 8 + 8 + 8 * 9 + 8 + 8 * 4 + 2 * 4 + squeeze
    policy = 4 * 32 + 32 + 32 * 16 * 17 + 17
    value = 4 * 32 + 32 + 32 * 16 * 128 + 128 + 128 * 3 + 3
    assert summary.trainable == 3 * 4 + 2 * block + policy + value
    statistics = 2 * (2 * (8 + 8 + 4) + 32 + 32)
    assert summary.with_buffers == summary.trainable + statistics
    convolutions = 16 * (3 * 4 + 2 * (4 * 8 + 8 * 9 + 8 * 4) + 2 * 4 * 32)
    dense = 2 * (4 * 2 + 2 * 8) + 32 * 16 * (17 + 128) + 128 * 3
    assert summary.flops == 2 * (convolutions + dense)
    assert summary.weight_bytes == 4 * summary.with_buffers
    assert summary.training_bytes > summary.inference_bytes > 0


def test_info_shows_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "res_3x3_3x8", "--game", "connect4"]) == 0
    out = capsys.readouterr().out
    assert "blocks 0-2 conv1" in out
    assert "trainable" in out
    assert "MFLOP per position" in out


def test_info_shows_the_default_net(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--game", "connect4"]) == 0
    assert get_game("connect4").default_net in capsys.readouterr().out


def test_info_shows_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = get_game("connect4")
    path = tmp_path / "net.safetensors"
    model = build_model(game.parse_net("mob_rng_1x8"), game)
    save_net(path, model, step=1234, metrics={"loss": 0.5}, data_licence="CC0-1.0")
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert all(text in out for text in ("mob_rng_1x8", "1,234", "0.5", "CC0-1.0"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a net file"),
        (["nothing.safetensors"], "there is no net file 'nothing.safetensors'"),
        (["mob_3x3_2x8"], "for a name add --game"),
        (["mob_3x3_2x8", "--game", "conect4"], "did you mean 'connect4'"),
        (["mop_3x3_2x8", "--game", "connect4"], "did you mean 'mob'"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
