"""The tournament files: every one is valid; the papers' protocols say what the papers say."""

from pathlib import Path

import pytest

from zerogames.arena.event import parse_anchors
from zerogames.cli import main
from zerogames.commands.tournament import TournamentOptions
from zerogames.config import read_settings

FOLDER = Path(__file__).resolve().parents[1] / "configs" / "tournaments"
PRESETS = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_valid(name: str) -> None:
    options = read_settings(TournamentOptions, PRESETS[name])
    options.rules()
    assert len(set(options.players)) >= 2
    assert options.games % 2 == 0
    limits = (options.tc, options.st, options.nodes)
    own_limits = ("random", "mcts:", "gtp:")
    assert any(limits) or all(player.startswith(own_limits) for player in options.players)


@pytest.mark.parametrize(
    ("name", "tc"),
    [
        ("icga2025-bullet", "60+0.6"),
        ("icga2025-blitz", "180+2"),
        ("icga2025-rapid", "600+0"),
    ],
)
def test_icga_2025_protocol(name: str, tc: str) -> None:
    options = read_settings(TournamentOptions, PRESETS[name])
    assert (options.tc, len(options.players), options.games) == (tc, 11, 100)
    assert options.format == "round-robin"


def test_mobile_go_protocol() -> None:
    options = read_settings(TournamentOptions, PRESETS["mobile-go"])
    assert options.st == 1
    assert all("batch=32" in player and "variety=0.8" in player for player in options.players)


def test_anchors_of_presets_are_players() -> None:
    stockfish = read_settings(TournamentOptions, PRESETS["stockfish-ladder"])
    assert parse_anchors(stockfish.anchor, ["stockfish UCI_Elo=1350"])
    gnugo = read_settings(TournamentOptions, PRESETS["gnugo-ladder"])
    assert parse_anchors(gnugo.anchor, ["gnugo --level 10"]) == {"gnugo --level 10": 0}


def test_a_preset_is_found_by_name_and_its_settings_overridden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path), "--games", "2"]
    assert main(["tournament", "--preset", "connect4-baselines", *out]) == 0
    assert (tmp_path / "games.jsonl").read_bytes().count(b"\n") == 12
    assert "Connect Four baselines" in (tmp_path / "report.md").read_text()


def test_players_on_the_command_line_replace_the_files(tmp_path: Path) -> None:
    path = str(PRESETS["connect4-baselines"])
    out = ["--out", str(tmp_path), "--games", "2"]
    assert main(["tournament", path, "random", "mcts:2", *out]) == 0
    assert (tmp_path / "games.jsonl").read_bytes().count(b"\n") == 2
