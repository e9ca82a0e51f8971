"""Keeping games and going on with them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from zerogames.arena.event import Conditions, Event
from zerogames.arena.game_loop import Rules, play_game
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.mcts_player import MctsPlayer
from zerogames.arena.openings import Opening
from zerogames.arena.random_player import RandomPlayer
from zerogames.arena.runner import event_tally, run_event
from zerogames.arena.sprt import Sprt
from zerogames.data.formats import get_game_data
from zerogames.errors import UserError
from zerogames.registry import get_game

Run = Callable[..., list[StoredGame]]


def test_games_are_reproducible_whatever_the_concurrency(run: Run) -> None:
    one = run("random", "mcts:5", games=8, folder="one")
    four = run("random", "mcts:5", games=8, folder="four", concurrency=4)
    assert {g.key: g.actions for g in one} == {g.key: g.actions for g in four}


def test_a_longer_match_goes_on_from_a_shorter_one(run: Run) -> None:
    before = run("random", "mcts:5", games=4)
    after = run("random", "mcts:5", games=6)
    assert after[:4] == before
    assert len({one.key for one in after}) == 6


def test_another_event_does_not_get_into_the_folder(run: Run) -> None:
    run("random", "mcts:5")
    with pytest.raises(UserError, match="seed was 0, not 1"):
        run("random", "mcts:5", seed=1)
    with pytest.raises(UserError, match="players was"):
        run("random", "mcts:6")
    assert len(run("random", "mcts:5", "mcts:6")) == 6


def test_a_torn_last_line_is_dropped_and_a_damaged_one_named(run: Run, tmp_path: Path) -> None:
    games = run("random", "mcts:5", games=4)
    path = tmp_path / "match" / "games.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][: len(lines[3]) // 2])
    again = run("random", "mcts:5", games=4)
    assert [one.actions for one in again] == [one.actions for one in games]
    path.write_bytes(lines[0] + b"{}\n" + lines[2])
    with pytest.raises(UserError, match="line 2 is damaged"):
        run("random", "mcts:5", games=4)


def test_two_processes_cannot_use_one_folder(tmp_path: Path) -> None:
    event = Event(["random", "random"], Conditions(game="connect4"))
    with (
        MatchFolder(tmp_path, event.identity(), event.game, "-"),
        pytest.raises(UserError, match="in use"),
    ):
        MatchFolder(tmp_path, event.identity(), event.game, "-")


def test_a_refused_event_changes_nothing(run: Run, tmp_path: Path) -> None:
    run("random", "mcts:5")
    games = tmp_path / "match" / "games.jsonl"
    games.write_bytes(games.read_bytes() + b'{"torn')
    before = {path: path.read_bytes() for path in games.parent.iterdir()}
    with pytest.raises(UserError, match="seed was 0, not 1"):
        run("random", "mcts:5", seed=1)
    assert {path: path.read_bytes() for path in games.parent.iterdir()} == before


ENDLESS = 100_000
"""Games of a match that no machine finishes before a test interrupts it."""


def match_process(folder: Path, games: int, *more: str) -> list[str]:
    options = ["--game", "connect4", "--games", str(games), "--out", str(folder), *more]
    return [sys.executable, "-m", "zerogames", "match", "mcts:40", "mcts:30", *options]


def wait_for_games(path: Path, count: int) -> None:
    for _ in range(2400):
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no games were finished")


def test_a_killed_match_loses_no_finished_game(tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    process = subprocess.Popen(match_process(tmp_path, ENDLESS), stdout=subprocess.DEVNULL)
    wait_for_games(games, 5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    survived = games.read_bytes()
    kept = [json.loads(line)["key"] for line in survived.splitlines() if line.endswith(b"}")]
    assert len(kept) >= 5
    wanted = 2 * (len(kept) // 2 + 5)
    command = match_process(tmp_path, wanted)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "already" in done.stdout
    after = [json.loads(line)["key"] for line in games.read_bytes().splitlines()]
    assert after[: len(kept)] == kept
    assert len(after) == len(set(after)) == wanted
    report = json.loads((tmp_path / "report.json").read_text())
    wdl = report["pairings"][0]["wdl"]
    assert wdl["wins"] + wdl["draws"] + wdl["losses"] == wanted
    readers = get_game_data(get_game("connect4")).readers
    records = list(readers["txt"]((tmp_path / "games.txt").read_bytes()))
    assert len(records) == wanted


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        match_process(tmp_path, ENDLESS, "--concurrency", "2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background starts with Ctrl-C ignored; this one must not inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for_games(tmp_path / "games.jsonl", 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "the same command continues" in out
    assert err == ""
    assert (tmp_path / "report.png").exists()


def test_a_game_can_be_played_without_a_match() -> None:
    game = get_game("connect4")
    played = play_game(game, [RandomPlayer(), MctsPlayer(20)], Opening(name="start"), Rules())
    state = game.initial_state()
    for action in played.actions:
        state = state.play(action)
    assert state.result == played.ending.result


def test_a_players_own_sprt_and_tally_see_the_first_player(tmp_path: Path) -> None:
    event = Event(
        ["mcts:20", "random"],
        Conditions(game="connect4", games=4),
        sprt=Sprt(elo0=0, elo1=5),
    )
    with MatchFolder(tmp_path, event.identity(), event.game, "-") as folder:
        run_event(event, folder)
        assert event_tally(event, folder).a == "mcts:20"
        assert event_tally(event, folder).wdl.wins >= 3
