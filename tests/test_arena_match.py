"""Matches: real players, real engine processes that misbehave, resuming after a kill."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerogames.arena.adjudication import Adjudicator, DrawRule, ResignRule, longest_game
from zerogames.arena.event import Conditions, Event, parse_anchors
from zerogames.arena.game_loop import Rules, play_game
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.mcts_player import MctsPlayer
from zerogames.arena.openings import Opening, load_openings
from zerogames.arena.players import Choice, Limits, Position, parse_player, parse_players
from zerogames.arena.random_player import RandomPlayer
from zerogames.arena.runner import event_tally, run_event
from zerogames.arena.schedule import schedule
from zerogames.arena.sprt import Sprt
from zerogames.arena.time_control import TimeControl
from zerogames.arena.variety import choose_by_evaluations
from zerogames.cli import main
from zerogames.errors import UserError
from zerogames.registry import get_game

Run = Callable[..., list[StoredGame]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Play an event in a folder of its own and return its games."""

    def play(*players: str, folder: str = "match", **settings: object) -> list[StoredGame]:
        values = {"game": "connect4", "games": 2} | settings
        event = Event(players, Conditions(**values))  # type: ignore[arg-type]
        with MatchFolder(tmp_path / folder, event.identity(), event.game, "-") as opened:
            assert run_event(event, opened) == "finished"
            return list(opened.games)

    return play


# Time controls and clocks.


@pytest.mark.parametrize(
    ("text", "time_s", "moves", "increment_s", "tag"),
    [
        ("60+0.6", 60, 0, 0.6, "60+0.6"),
        ("40/60+0.6", 60, 40, 0.6, "40/60+0.6"),
        ("1:30+1", 90, 0, 1, "90+1"),
        ("600", 600, 0, 0, "600"),
        ("0.5", 0.5, 0, 0, "0.5"),
        ("inf", None, 0, 0, "-"),
    ],
)
def test_time_controls_are_read_in_cutechess_form(
    text: str, time_s: float | None, moves: int, increment_s: float, tag: str
) -> None:
    control = TimeControl.parse(text)
    assert control == TimeControl(time_s=time_s, moves=moves, increment_s=increment_s)
    assert str(control) == tag


@pytest.mark.parametrize("text", ["60+", "x", "-5", "0+0", "40/", "1:2:3", "60 0.6"])
def test_a_wrong_time_control_is_a_mistake(text: str) -> None:
    with pytest.raises(UserError):
        TimeControl.parse(text)


def test_clock_starts_with_an_increment_and_gets_a_new_period() -> None:
    clock = TimeControl.parse("3/10+1").start()
    assert (clock.remaining_s, clock.moves_to_go) == (11, 3)
    assert clock.spend(4)
    assert (clock.remaining_s, clock.moves_to_go) == (8, 2)
    assert clock.spend(8.05, margin_s=0.1)
    assert (clock.remaining_s, clock.moves_to_go) == (1, 1)
    assert clock.spend(0)
    assert (clock.remaining_s, clock.moves_to_go) == (12, 3)
    assert not clock.spend(12.2, margin_s=0.1)
    assert TimeControl.parse("inf").start().spend(1e9)


# Players by their text.


def test_players_are_named_by_what_makes_a_difference() -> None:
    python = sys.executable
    spec = parse_player(f"uci:{python} -q?Threads=1&UCI_LimitStrength=true&UCI_Elo=1350")
    assert spec.name == f"{Path(python).name} UCI_Elo=1350"
    assert parse_player(f"gtp:{python} --mode gtp --level 1").name.endswith("--level 1")
    assert parse_player("Mia=mcts:50").name == "Mia"
    assert [one.name for one in parse_players(["random", "random"])] == ["random", "random #2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("randm", "did you mean 'random'"),
        ("random:5", "no settings"),
        ("mcts:x", "mcts:1000"),
        ("uci:", "needs a command"),
        ("uci:/no/such/engine", "no program '/no/such/engine'"),
        (f"uci:{sys.executable}?Threads", "Option=value"),
        (f"uci:{sys.executable}?nodes=-1", "positive"),
        ("gtp:'", "command"),
    ],
)
def test_a_wrong_player_is_named(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        parse_player(text)


# Players that search.


def position_of(game_name: str, moves: str) -> Position:
    game = get_game(game_name)
    state = game.initial_state()
    actions, movers = [], []
    for move in moves.split():
        actions.append(game.parse_action(state, move))
        movers.append(state.to_play)
        state = state.play(actions[-1])
    return Position(
        game=game, start="", actions=actions, moves=moves.split(), movers=movers, state=state
    )


UNLIMITED = Limits(control=TimeControl(), remaining_s=(1e9, 1e9), deadline_s=60)


@pytest.mark.parametrize(
    ("moves", "best"), [("4 1 4 1 4 2", "4"), ("4 1 4 1 4", "4"), ("3 1 4 1", "5")]
)
def test_mcts_wins_blocks_and_builds_a_double_threat(moves: str, best: str) -> None:
    position = position_of("connect4", moves)
    choice = MctsPlayer(1500).choose(position, UNLIMITED)
    assert choice.action is not None
    assert position.game.format_action(position.state, choice.action) == best
    assert choice.nodes == 1500


def test_mcts_keeps_to_the_clock() -> None:
    limits = Limits(
        control=TimeControl.parse("3+0.1"), remaining_s=(3.0, 3.0), deadline_s=3.0, moves_to_go=0
    )
    began = time.monotonic()
    choice = MctsPlayer(None).choose(position_of("connect4", ""), limits)
    assert time.monotonic() - began < 3
    assert choice.nodes
    with pytest.raises(UserError, match="needs a limit"):
        MctsPlayer(None).choose(position_of("connect4", ""), UNLIMITED)


def test_more_rollouts_are_stronger(run: Run) -> None:
    games = run("random", "mcts:10", "mcts:200", games=12)
    points = {"random": 0.0, "mcts:10": 0.0, "mcts:200": 0.0}
    for stored in games:
        points[stored.first] += (1 + stored.result) / 2
        points[stored.second] += (1 - stored.result) / 2
    assert len(games) == 36
    assert points["mcts:200"] > points["mcts:10"] > points["random"]


# The second-best rule.


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20), st.floats(0, 1, exclude_max=True))
def test_second_best_is_played_only_when_it_is_close(visits: list[int], uniform: float) -> None:
    chosen = choose_by_evaluations(visits, uniform)
    ordered = sorted(visits, reverse=True)
    close = ordered[1] > 0.8 * ordered[0]
    second = close and uniform < ordered[1] / (ordered[0] + ordered[1])
    assert visits[chosen] == ordered[1 if second else 0]


def test_second_best_is_played_in_proportion_to_its_evaluations() -> None:
    rng = random.Random(0)
    chosen = [choose_by_evaluations([10, 100, 90], rng.random()) for _ in range(20_000)]
    assert chosen.count(2) / 20_000 == pytest.approx(90 / 190, abs=0.01)
    assert 0 not in chosen
    assert {choose_by_evaluations([100, 80], rng.random()) for _ in range(1000)} == {0}
    assert choose_by_evaluations([7], 0.1) == 0


# Schedules and openings.


def test_every_pairing_plays_each_opening_with_both_colours() -> None:
    games = list(schedule(["a", "b", "c"], 4, "round-robin"))
    assert len(games) == 12
    assert len({one.key for one in games}) == 12
    for one in games:
        assert [g.swapped for g in games if g.pair == one.pair] == [False, True]
    assert {(g.first, g.second) for g in games if g.pairing == ("a", "b")} == {
        ("a", "b"),
        ("b", "a"),
    }
    gauntlet = list(schedule(["a", "b", "c"], 3, "gauntlet"))
    assert [(g.first, g.second, g.round) for g in gauntlet] == [
        ("a", "b", 0),
        ("b", "a", 0),
        ("a", "c", 0),
        ("c", "a", 0),
        ("a", "b", 1),
        ("a", "c", 1),
    ]


def test_a_longer_schedule_contains_the_shorter_one() -> None:
    short = {one.key for one in schedule(["a", "b", "c"], 5, "round-robin")}
    long = {one.key for one in schedule(["a", "b", "c"], 8, "round-robin")}
    assert short < long


def test_random_openings_are_legal_reproducible_and_differ() -> None:
    game = get_game("othello")
    openings = load_openings("random:6", game, seed=3)
    again = load_openings("random:6", game, seed=3)
    assert all(openings[n] == again[n] for n in range(20))
    assert len({openings[n].actions for n in range(20)}) > 15
    assert all(len(openings[n].actions) == 6 for n in range(20))
    with pytest.raises(UserError, match="random:x"):
        load_openings("random:x", game)


def test_openings_come_from_files(tmp_path: Path) -> None:
    game = get_game("othello:size=6")
    positions = tmp_path / "start.fen"
    state = game.initial_state()
    state = state.play(int(state.legal_actions()[0]))
    positions.write_text("6/6/2ox2/2xo2/6/6 x\n\n")
    with pytest.raises(UserError, match=r"start\.fen, line 1"):
        load_openings(str(positions), game)  # not four fields
    text = game.writers["txt"]
    from zerogames.data.record import GameRecord

    record = GameRecord(
        game=game.spec.identity,
        actions=random_actions(game.spec.identity, 8),
        result=None,
    )
    games = tmp_path / "lines.txt"
    games.write_text(text(record) * 2)
    openings = load_openings(str(games), game, plies=3)
    assert openings[0].actions == openings[1].actions == tuple(record.actions[:3])
    with pytest.raises(UserError, match="no file"):
        load_openings(str(tmp_path / "none.txt"), game)
    (tmp_path / "x.bin").write_text("")
    with pytest.raises(UserError, match="files of type"):
        load_openings(str(tmp_path / "x.bin"), game)


def random_actions(identity: str, plies: int):  # type: ignore[no-untyped-def]
    import numpy as np

    state = get_game(identity).initial_state()
    actions = []
    for _ in range(plies):
        actions.append(int(state.legal_actions()[0]))
        state = state.play(actions[-1])
    return np.array(actions, np.int32)


# Adjudication.


class Quiet:
    """A state that counts moves since the last progress, as chess does."""

    def __init__(self, halfmoves: int) -> None:
        self.halfmoves = halfmoves


def adjudicate(adjudicator: Adjudicator, scores: list[float | None], *, progress_at: int = -1):  # type: ignore[no-untyped-def]
    for ply, score in enumerate(scores):
        state = Quiet(0 if ply == progress_at else 5)
        choice = Choice(action=0, centipawns=score)
        ending = adjudicator.after_move(ply % 2, choice, state, ply + 1)  # type: ignore[arg-type]
        if ending:
            return ply + 1, ending.result
    return None


def test_resigning_needs_own_moves_in_a_row() -> None:
    rule = ResignRule.parse("3/600")
    assert adjudicate(Adjudicator(rule), [0, -700, 0, -650, 0, -600]) == (6, 1.0)
    assert adjudicate(Adjudicator(rule), [-700, 0, -650, 0, -600]) == (5, -1.0)
    assert adjudicate(Adjudicator(rule), [-700, 0, -500, 0, -700, 0, -700, 0]) is None
    assert adjudicate(Adjudicator(rule), [None] * 20) is None


def test_two_sided_resigning_needs_both_to_agree() -> None:
    rule = ResignRule.parse("2/500/two")
    assert adjudicate(Adjudicator(rule), [600, -600, 700, -700]) == (4, 1.0)
    assert adjudicate(Adjudicator(rule), [-600, 600, -700, 700]) == (4, -1.0)
    assert adjudicate(Adjudicator(rule), [600, 100, 700, 100, 700, 100]) is None
    assert adjudicate(Adjudicator(rule), [600, 600, 600, 600, 600, 600]) is None


def test_a_mate_score_is_beyond_every_limit() -> None:
    adjudicator = Adjudicator(ResignRule.parse("1/10000"))
    state = Quiet(5)
    ending = adjudicator.after_move(0, Choice(action=0, mate=-3), state, 1)  # type: ignore[arg-type]
    assert ending is not None
    assert ending.result == -1.0


def test_draws_wait_for_the_move_number_and_restart_on_progress() -> None:
    rule = DrawRule.parse("4/2/20")
    assert adjudicate(Adjudicator(None, rule), [0] * 20) == (8, 0.0)
    assert adjudicate(Adjudicator(None, rule), [0] * 20, progress_at=6) == (11, 0.0)
    assert adjudicate(Adjudicator(None, rule), [0, 0, 0, 50] * 10) is None


@pytest.mark.parametrize("text", ["3", "3/", "0/600", "a/b", "3/600/three"])
def test_a_wrong_resign_rule_is_a_mistake(text: str) -> None:
    with pytest.raises(UserError):
        ResignRule.parse(text)


def test_a_game_that_is_too_long_is_a_draw(run: Run) -> None:
    games = run("random", "random", max_plies=5)
    assert [(one.result, one.reason, len(one.actions)) for one in games] == [(0, "length", 5)] * 2
    assert longest_game(get_game("connect4")) == 42


# Engines that misbehave: real processes.

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
    monkeypatch.setattr("zerogames.arena.uci_player.PATIENCE_S", 0.5)
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


# Keeping and continuing.


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


def match_process(folder: Path, *more: str) -> list[str]:
    options = ["--game", "connect4", "--games", "40", "--out", str(folder), *more]
    return [sys.executable, "-m", "zerogames", "match", "mcts:40", "mcts:30", *options]


def wait_for_games(path: Path, count: int) -> None:
    for _ in range(2400):
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no games were finished")


def test_a_killed_match_loses_no_finished_game(tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    process = subprocess.Popen(match_process(tmp_path), stdout=subprocess.DEVNULL)
    wait_for_games(games, 5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    survived = games.read_bytes()
    kept = [json.loads(line)["key"] for line in survived.splitlines() if line.endswith(b"}")]
    assert 5 <= len(kept) < 40
    done = subprocess.run(match_process(tmp_path), capture_output=True, text=True, check=True)
    assert "already" in done.stdout
    after = [json.loads(line)["key"] for line in games.read_bytes().splitlines()]
    assert after[: len(kept)] == kept
    assert len(after) == len(set(after)) == 40
    report = json.loads((tmp_path / "report.json").read_text())
    wdl = report["pairings"][0]["wdl"]
    assert wdl["wins"] + wdl["draws"] + wdl["losses"] == 40
    records = list(get_game("connect4").readers["txt"]((tmp_path / "games.txt").read_bytes()))
    assert len(records) == 40


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        match_process(tmp_path, "--concurrency", "2"),
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


# The commands.


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
    assert games < 200
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
    assert main(["tournament", str(config), "--games", "6", "--concurrency", "2"]) == 0
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
        (["tournament", "nosuch.toml"], "no such file"),
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
    assert main(["tournament", str(config)]) == 2
    assert "did you mean 'game'" in capsys.readouterr().err


def test_anchors_are_read_from_names_with_a_rating() -> None:
    names = ["stockfish UCI_Elo=2000", "net"]
    assert parse_anchors(["stockfish UCI_Elo=2000"], names) == {"stockfish UCI_Elo=2000": 2000}
    assert parse_anchors(["stockfish UCI_Elo=2000=1900", "net=5"], names) == {
        "stockfish UCI_Elo=2000": 1900,
        "net": 5,
    }


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
