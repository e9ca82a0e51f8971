"""Engines that misbehave: real processes."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from zerogames.arena.match_folder import StoredGame
from zerogames.errors import UserError

Run = Callable[..., list[StoredGame]]


UCI_ENGINE = """
import random, sys, time
mode, seed = sys.argv[1], 0
rows = lambda moves: [c for c in "1234567" if moves.count(c) < 6]
moves, games = [], 0
print("some engine, hello", flush=True)
while line := sys.stdin.readline():
    words = line.split()
    if not words:
        continue
    if words[0] == "uci":
        if mode == "mute": time.sleep(1000)
        print("id name fake\\noption name Level type spin default 1\\nuciok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "ucinewgame":
        games += 1
    elif words[0] == "position":
        moves = words[words.index("moves") + 1:] if "moves" in words else []
    elif words[0] == "quit":
        if mode != "stubborn": break
    elif words[0] == "go":
        late = len(moves) >= 8
        if mode == "crash" and late:
            print("segfault, sorry", file=sys.stderr, flush=True)
            sys.exit(3)
        if mode == "illegal" and late: print("bestmove 9", flush=True); continue
        if mode == "none" and late: print("bestmove (none)", flush=True); continue
        if mode in ("hang", "stubborn") and late: time.sleep(1000)
        if mode == "garbage" and late:
            for _ in range(20000): print("\\x00\\xff info depth x score cp " + "y" * 50)
            print("bestmove", flush=True); continue
        if mode == "flood" and late:
            while True: print("info string " + "z" * 500)
        print("info depth 3 nodes 17 score cp 12 pv 1 2", flush=True)
        print("info depth 2 multipv 2 score cp -500 nodes 99", flush=True)
        print("bestmove " + random.choice(rows(moves)), flush=True)
"""

GTP_ENGINE = """
import sys, time
mode = sys.argv[1]
count = 0
black = []
while line := sys.stdin.readline():
    words = line.split()
    if words[0] == "list_commands":
        print("= genmove\\nplay\\ntime_settings\\ntime_left\\n", flush=True)
    elif words[0] == "quit": print("=\\n", flush=True); break
    elif words[0] == "genmove":
        count += 1
        if mode == "crash": sys.exit(1)
        if mode == "hang": time.sleep(1000)
        if mode == "refuse": print("? cannot\\n", flush=True)
        elif mode == "resign" and count > 2: print("= resign\\n", flush=True)
        elif mode == "garbage": print("hello\\n\\n= z99\\n", flush=True)
        else: print("= " + MOVE() + "\\n", flush=True)
    elif words[0] in ("boardsize", "clear_board", "komi", "play", "time_settings", "time_left"):
        print("=\\n", flush=True)
    else: print("? unknown command\\n", flush=True)
"""


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[str], str]:
    script = tmp_path / "engine.py"
    script.write_text(UCI_ENGINE)
    return lambda mode: f"{mode}=uci:{sys.executable} {script} {mode}"


def test_a_good_engine_plays_and_its_evaluations_are_kept(
    run: Run, engine: Callable[[str], str]
) -> None:
    games = run(engine("good"), "random", games=4, depth=3, concurrency=2)
    assert len(games) == 4
    assert not any(one.fault for one in games)
    own = [
        text
        for one in games
        for ply, text in one.comments.items()
        if (one.first if ply % 2 == 0 else one.second) == "good" and text != "book"
    ]
    assert own
    assert all(re.fullmatch(r"\+0\.12/3 \d+\.\d+s 17n", text) for text in own)


@pytest.mark.parametrize(
    ("mode", "fault"),
    [
        ("crash", "crash"),
        ("illegal", "illegal move"),
        ("none", "illegal move"),
        ("hang", "time forfeit"),
        ("stubborn", "time forfeit"),
        ("garbage", "illegal move"),
        ("flood", "time forfeit"),
    ],
)
def test_a_bad_engine_loses_its_games_and_the_match_goes_on(
    run: Run, engine: Callable[[str], str], mode: str, fault: str
) -> None:
    # A clock only where silence is the fault: a busy machine must not decide the others.
    limit = {"st": 0.3, "margin": 0.7} if fault == "time forfeit" else {"depth": 1}
    games = run(engine(mode), "random", games=3, **limit)
    assert len(games) == 3
    faults = [one for one in games if one.fault]
    assert faults, "no game lasted long enough to break"
    for one in faults:
        assert one.fault == fault
        assert one.loser == mode
    if mode == "crash":
        assert "segfault, sorry" in str(faults[0].fault_detail)
        assert "code 3" in str(faults[0].fault_detail)


def test_engines_are_gone_after_the_match(run: Run, engine: Callable[[str], str]) -> None:
    run(engine("stubborn"), engine("good"), games=2, st=0.3, margin=0.2)
    script = re.search(r"\S+engine\.py", engine("good"))
    assert script
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert script[0] not in running.stdout


def test_an_engine_that_never_starts_loses(
    run: Run, engine: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zerogames_chess.uci_player.PATIENCE_S", 0.5)
    games = run(engine("mute"), "random", depth=1)
    assert [(one.fault, one.loser) for one in games] == [("no answer", "mute")] * 2


def test_an_unknown_engine_option_is_a_mistake(run: Run, engine: Callable[[str], str]) -> None:
    with pytest.raises(UserError, match=r"unknown option of .* 'Levl'; did you mean 'Level'"):
        run(f"{engine('good')}?Levl=3", "random", depth=1)


def test_an_engine_without_a_limit_is_a_mistake(run: Run, engine: Callable[[str], str]) -> None:
    with pytest.raises(UserError, match="needs a limit"):
        run(engine("good"), "random")


def test_engines_may_have_limits_of_their_own(run: Run, engine: Callable[[str], str]) -> None:
    games = run(f"{engine('good')}?nodes=5&Level=2", "random")
    assert len(games) == 2


@pytest.mark.parametrize(
    ("mode", "fault", "reason"),
    [
        ("crash", "crash", "crash"),
        ("hang", "time forfeit", "time forfeit"),
        ("refuse", "refusal", "refusal"),
        ("garbage", "illegal move", "illegal move"),
        ("resign", None, "resignation"),
    ],
)
def test_gtp_engines_that_misbehave_or_resign(
    run: Run, tmp_path: Path, mode: str, fault: str | None, reason: str
) -> None:
    # The protocol carries any game's moves: here the columns of Connect Four.
    script = tmp_path / "gtp.py"
    script.write_text(GTP_ENGINE.replace("MOVE()", "str(1 + count % 7)"))
    limit = {"st": 0.5, "margin": 0.5} if mode == "hang" else {"depth": 1}
    games = run(f"{mode}=gtp:{sys.executable} {script} {mode}", "random", **limit)
    assert len(games) == 2
    for one in games:
        if one.loser == mode:
            assert (one.fault, one.reason) == (fault, reason)
    assert any(one.loser == mode for one in games)
