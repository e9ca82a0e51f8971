"""The tournament files: every one is valid; the papers' protocols say what the papers say."""

import re
from pathlib import Path

import pytest

from zerogames.arena.event import fill_in_net, parse_anchors
from zerogames.cli import main
from zerogames.commands.tournament import TournamentOptions
from zerogames.presets import Preset

FOLDER = Path(__file__).resolve().parents[2] / "configs"
PRESETS = {
    path.stem: preset
    for path in sorted(FOLDER.glob("*/*.toml"))
    if (preset := Preset(path)).serves("tournament")
}


def read(name: str) -> TournamentOptions:
    return PRESETS[name].settings(TournamentOptions, command="tournament")


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_valid(name: str) -> None:
    options = read(name)
    options.rules()
    assert len(set(options.players)) >= 2
    assert options.games % 2 == 0
    limits = (options.tc, options.st, options.nodes)
    assert any(limits) or all(map(has_own_limit, options.players))


def has_own_limit(player: str) -> bool:
    return (
        player.startswith(("random", "mcts:", "gtp:")) or "{net}@" in player or "nodes=" in player
    )


@pytest.mark.parametrize(
    ("name", "tc"),
    [
        ("icga2025-bullet", "60+0.6"),
        ("icga2025-blitz", "180+2"),
        ("icga2025-rapid", "600+0"),
    ],
)
def test_icga_2025_protocol(name: str, tc: str) -> None:
    options = read(name)
    assert (options.tc, len(options.players), options.games) == (tc, 11, 100)
    assert options.format == "round-robin"


def test_mobile_go_protocol() -> None:
    options = read("mobile-tournament")
    assert options.st == 1
    assert all("batch=32" in player and "variety=0.8" in player for player in options.players)


@pytest.mark.parametrize(
    "name", [name for name in PRESETS if name.startswith(("net-", "stockfish-"))]
)
def test_anchors_are_the_ratings_that_engines_are_set_to(name: str) -> None:
    options = read(name)
    names = [
        f"stockfish {found[0]} nodes=1"
        for player in options.players
        if (found := re.search(r"UCI_Elo=\d+", player))
    ]
    wanted = [text for text in options.anchor if text.startswith("stockfish")]
    anchors = parse_anchors(wanted, names)
    assert len(anchors) == len(wanted)
    assert all(f"UCI_Elo={elo:g}" in player for player, elo in anchors.items())


def test_a_net_is_filled_in_where_a_preset_wants_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = read("net-nodes")
    players = fill_in_net(options.players, "some.safetensors")
    assert players[-1] == "800 nodes=some.safetensors@800"
    # There is no net for so small a board.
    assert main(["tournament", "--preset", "net-nodes", "--game", "othello:size=4"]) == 2
    assert "--net FILE" in capsys.readouterr().err
    assert main(["tournament", "random", "mcts:5", "--net", "x.safetensors"]) == 2
    assert "no player has {net}" in capsys.readouterr().err


def test_anchors_of_presets_are_players() -> None:
    stockfish = read("stockfish-ladder")
    assert parse_anchors(stockfish.anchor, ["stockfish UCI_Elo=1350"])
    gnugo = read("gnugo-ladder")
    assert parse_anchors(gnugo.anchor, ["gnugo --level 10"]) == {"gnugo --level 10": 0}


def test_a_preset_is_found_by_name_and_its_settings_overridden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path), "--games", "2"]
    assert main(["tournament", "--preset", "baselines", *out]) == 0
    assert (tmp_path / "games.jsonl").read_bytes().count(b"\n") == 12
    assert "Connect Four baselines" in (tmp_path / "report.md").read_text()


def test_players_on_the_command_line_replace_the_files(tmp_path: Path) -> None:
    path = str(PRESETS["baselines"].path)
    out = ["--out", str(tmp_path), "--games", "2"]
    assert main(["tournament", "--preset", path, "random", "mcts:2", *out]) == 0
    assert (tmp_path / "games.jsonl").read_bytes().count(b"\n") == 2
