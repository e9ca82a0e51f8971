"""The engine as a process of its own, in matches refereed by our arena and against GNU Go."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from zerogames.arena.event import Conditions, Event
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.runner import run_event
from zerogames.game import play_actions

ENGINE = f"{sys.executable} -m zerogames gtp --evaluator random --threads 1"
GNUGO = shutil.which("gnugo") or "/usr/games/gnugo"


def play(folder: Path, players: list[str], **settings: object) -> tuple[Event, list[StoredGame]]:
    event = Event(players, Conditions(**settings))  # type: ignore[arg-type]
    with MatchFolder(folder, event.identity(), event.game, "-") as opened:
        assert run_event(event, opened) == "finished"
        return event, list(opened.games)


def test_games_end_by_passes_and_count_as_they_stand(tmp_path: Path) -> None:
    engine = f"us=gtp:{ENGINE} --nodes 20 --resign 0"
    event, games = play(tmp_path, [engine, "random"], game="go:size=5,komi=0.5", games=4)
    assert not any(one.fault for one in games)
    for one in games:
        state = play_actions(event.game.initial_state(), one.actions)
        assert one.reason in ("two passes", "length, scored as it stands")
        assert state.result in (one.result, None)


def test_openings_may_be_set_up_positions_and_the_rules_are_told(tmp_path: Path) -> None:
    book = tmp_path / "book.sgf"
    book.write_text("(;GM[1]SZ[5]KM[0.5]RU[Chinese]AB[cc][bb]AW[cb]PL[W];W[dc])")
    engine = f"us=gtp:{ENGINE} --nodes 8 --resign 0"
    settings = {"game": "go:size=5,komi=0.5,rules=chinese", "openings": str(book)}
    event, games = play(tmp_path / "match", [engine, "random"], games=2, **settings)
    assert [one.fault for one in games] == [None, None]
    for one in games:
        assert one.moves[0] == "D3"
        play_actions(event.game.parse_state(one.start), one.actions)


@pytest.mark.skipif(not Path(GNUGO).exists(), reason="GNU Go is not installed")
def test_whole_games_against_gnu_go(tmp_path: Path) -> None:
    engine = f"us=gtp:{ENGINE} --nodes 16 --resign 0"
    other = f"gnugo=gtp:{GNUGO} --mode gtp --chinese-rules --capture-all-dead --level 1"
    game = "go:size=7,komi=9,rules=chinese"
    _, games = play(tmp_path, [engine, other], game=game, games=2, tc="60+1")
    assert [one.fault for one in games] == [None, None]
    assert all(one.reason == "two passes" for one in games)


def test_the_end_of_the_input_and_ctrl_c_end_the_process() -> None:
    command = [*ENGINE.split(), "--game", "go:size=5"]
    done = subprocess.run(
        command, input=b"1 name\r\n2 genmove b\n3 lz-analyze 1\n", capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"=1 zerogames\n\n=2 ")
    assert done.stdout.endswith(b"\n\n")
    assert done.stderr == b""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A job in the background starts with Ctrl-C ignored; this one must not inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"name\nlz-analyze 1\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"= zerogames\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == b"interrupted\n"
