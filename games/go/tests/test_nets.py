"""Go nets: every published size, and the papers' names."""

from pathlib import Path

import pytest
import torch
from zerogames_go.published import PUBLISHED

from zerogames import UserError, get_game
from zerogames.cli import main
from zerogames.nets import Model, build_model, load_net, save_net
from zerogames.nets.published import PublishedNet
from zerogames.nets.summary import count_trainable, count_with_buffers


def make(identity: str, name: str) -> Model:
    game = get_game(identity)
    with torch.device("meta"):  # counting needs no memory
        return build_model(game.parse_net(name), game)


@pytest.mark.parametrize("net", PUBLISHED.nets, ids=lambda net: net.net)
def test_every_published_count_of_go(net: PublishedNet) -> None:
    model = make("go", net.net)
    assert PUBLISHED.count(model) == count_with_buffers(model) == net.parameters


def test_all_rows_of_the_table_are_there() -> None:
    assert get_game("go").published_nets == (PUBLISHED,)
    assert len(PUBLISHED.nets) == 5


@pytest.mark.parametrize(
    ("name", "trainable"),
    [
        ("a0.small", 986_155),
        ("a0.small.avg", 984_098),
        ("a0.small.avg.conv.bin", 966_693),
        ("mobile.small", 974_174),
        ("mobile.small.conv.avg.bin", 939_725),
    ],
)
def test_trainable_counts_of_go_nets(name: str, trainable: int) -> None:
    assert count_trainable(make("go", name)) == trainable
    assert count_trainable(make("go", f"{name}.val4")) == trainable
    channels = make("go", name).spec.channels
    assert count_trainable(make("go", f"{name}+pass")) == trainable + channels + 1


def test_papers_command_prints_the_go_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--papers"]) == 0
    assert "970,477" in capsys.readouterr().out


def test_a_go_net_moves_between_board_sizes(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    small, large = get_game("go:size=9"), get_game("go")
    name = "mobile.conv.avg.bin.2.16.32+pass"
    save_net(path, build_model(small.parse_net(name), small))
    model, _ = load_net(path, game=large)
    planes = torch.from_numpy(large.initial_state().observe("golois-21"))[None]
    assert model.evaluate(planes)[0].shape == (1, 362)


def test_go_nets_read_other_encodings_and_own_patterns() -> None:
    game = get_game("go:size=9")
    assert game.parse_net("a0.2.16").first_player_plane == 0
    assert game.parse_net("a0.2.16+leela-18").first_player_plane == 16
    letters = "".join(game.patterns)
    model = build_model(game.parse_net(f"mob_{letters}_1x12"), game).eval()
    planes = torch.from_numpy(game.initial_state().observe("golois-21"))[None]
    assert model.evaluate(planes)[0].shape == (1, 82)
    with pytest.raises(UserError, match=r"did you mean 'mobile\.small'"):
        game.parse_net("mobile.smal")
