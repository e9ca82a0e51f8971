"""The commands match and tournament."""

import json
import textwrap
from pathlib import Path

import pytest

from zerogames.arena.event import parse_anchors
from zerogames.cli import main
from zerogames.errors import UserError


def test_match_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["match", "random", "Mia=mcts:20", "--game", "connect4", "--games", "8"]
    assert main([*arguments, "--out", str(tmp_path), "--anchor", "random=100"]) == 0
    out = capsys.readouterr().out
    assert "Mia" in out
    report = json.loads((tmp_path / "report.json").read_text())
    assert {rating["name"] for rating in report["ratings"]} == {"random", "Mia"}
    assert next(r["elo"] for r in report["ratings"] if r["name"] == "random") == 100
    assert report["conditions"]["game"] == "connect4"
    assert "| Mia |" in (tmp_path / "report.md").read_text()
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


def test_sprt_stops_the_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sprt = ["--sprt", "elo0=0,elo1=50", "--games", "500"]
    arguments = ["match", "mcts:40", "random", "--game", "connect4", "--out", str(tmp_path)]
    assert main([*arguments, *sprt]) == 0
    out = capsys.readouterr().out
    assert "H1 accepted" in out
    assert "the SPRT is decided" in out
    games = (tmp_path / "games.jsonl").read_bytes().count(b"\n")
    assert games < 100
    assert main([*arguments, *sprt]) == 0  # decided stays decided
    assert (tmp_path / "games.jsonl").read_bytes().count(b"\n") == games
    # How games are judged is no part of how they are played.
    more = ["--games", str(games + 2), "--anchor", "random=0"]
    assert main([*arguments, *more]) == 0
    assert games <= (tmp_path / "games.jsonl").read_bytes().count(b"\n") <= games + 2


def test_tournament_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "small.toml"
    config.write_text(
        textwrap.dedent(f"""
        title = "Small"
        game = "connect4"
        players = ["random", "mcts:5", "mcts:30"]
        games = 4
        format = "gauntlet"
        anchor = ["random=0"]
        out = "{tmp_path / "out"}"
        """)
    )
    assert main(["tournament", "--preset", str(config), "--games", "6", "--concurrency", "2"]) == 0
    out = capsys.readouterr().out
    assert "Cross table" in out
    assert "12/12" not in out
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["title"] == "Small"
    assert [pairing["b"] for pairing in report["pairings"]] == ["mcts:5", "mcts:30"]
    assert sum(pairing["wdl"]["wins"] for pairing in report["pairings"]) <= 12


def test_elo_from_rates_by_direct_games(tmp_path: Path) -> None:
    arguments = ["tournament", "random", "mcts:3", "mcts:6", "--game", "connect4", "--games", "10"]
    assert main([*arguments, "--elo-from", "mcts:3", "--out", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert "direct games against mcts:3" in report["scale"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["match", "random", "mcst:5"], "did you mean 'mcts'"),
        (["match", "random", "random", "--tc", "60+"], "60+0.6"),
        (["match", "random", "random", "--sprt", "elo0=0"], "needs both"),
        (["match", "random", "random", "--games", "0"], "games"),
        (["match", "random", "random", "--anchor", "rando=5"], "did you mean 'random'"),
        (["match", "random", "random", "--openings", "nix.pgn"], "no file"),
        (["tournament"], "needs players"),
        (["tournament", "--preset", "nosuch.toml"], "no such file"),
        (["tournament", "--preset", "icga2025-blits"], "unknown preset"),
        (["tournament", "random", "random", "--elo-from", "x"], "unknown player"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    game = [] if arguments == ["tournament"] else ["--game", "connect4"]
    assert main([*arguments, *game]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_wrong_key_in_a_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "wrong.toml"
    config.write_text('gmae = "connect4"\n')
    assert main(["tournament", "--preset", str(config)]) == 2
    assert "did you mean 'game'" in capsys.readouterr().err


def test_anchors_are_read_from_names_with_a_rating() -> None:
    names = ["stockfish UCI_Elo=2000", "net"]
    assert parse_anchors(["stockfish UCI_Elo=2000"], names) == {"stockfish UCI_Elo=2000": 2000}
    assert parse_anchors(["stockfish UCI_Elo=2000=1900", "net=5"], names) == {
        "stockfish UCI_Elo=2000": 1900,
        "net": 5,
    }


def test_the_beginning_of_a_name_is_enough_for_an_anchor_if_it_is_the_only_one() -> None:
    names = ["stockfish UCI_Elo=1350 nodes=5000", "stockfish UCI_Elo=1500 nodes=5000", "net"]
    assert parse_anchors(["stockfish UCI_Elo=1350"], names) == {names[0]: 1350}
    assert parse_anchors(["stockfish UCI_Elo=1350=1200"], names) == {names[0]: 1200}
    with pytest.raises(UserError, match="player to anchor"):
        parse_anchors(["stockfish=1500"], names)
