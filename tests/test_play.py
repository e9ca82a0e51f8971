"""`zerogames play`: typed lines in, boards and answers out."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from zerogames import get_game
from zerogames.cli import main
from zerogames.data.formats import get_game_data
from zerogames.engine import NetEngine
from zerogames.engine.levels import LEVELS
from zerogames.evaluate import RandomEvaluator
from zerogames.nets import build_model, save_net
from zerogames.play.adviser import Adviser, NetAdviser, RolloutAdviser
from zerogames.play.dialogue import Dialogue
from zerogames.play.table import Table

FIRST_MOVES = {"chess": "e4", "go:size=5": "c3", "connect4": "4", "othello:size=6": "c2"}


def talk(
    identity: str, *lines: str, person: int = 0, position: str = "", adviser: Adviser | None = None
) -> list[str]:
    """What is said between the lines: the answer to each, the greeting first."""
    game = get_game(identity)
    start = game.parse_state(position) if position else game.initial_state()
    console = Console(file=io.StringIO(), width=100, color_system=None)
    said: list[str] = []
    typed = iter(lines)

    def read(prompt: str) -> str:
        said.append(console.file.getvalue())  # type: ignore[attr-defined]
        console.file.truncate(0)
        console.file.seek(0)
        line = next(typed, None)
        if line is None:
            raise EOFError
        return line

    adviser = adviser or NetAdviser("net", NetEngine(game, RandomEvaluator(game)), nodes=8)
    Dialogue(Table(game, start, person), adviser, console, read=read).run()
    return said


@pytest.mark.parametrize("identity", FIRST_MOVES)
def test_every_game_is_played_with_hints_and_taking_back(identity: str, tmp_path: Path) -> None:
    game = get_game(identity)
    suffix = next(iter(get_game_data(game).writers))
    file = tmp_path / f"game.{suffix}"
    move = FIRST_MOVES[identity]
    said = talk(identity, "hint", move, "undo", move, f"save {file}", "quit")
    greeting, hint, answer, back, again, saved = said
    assert game.render(game.initial_state()).ansi(colour=False) in greeting
    assert re.search(r"move +policy +search +value", hint)
    assert re.search(r"You may expect \d+ % of the points; at first sight \d+ %", hint)
    assert re.search(r"The opponent plays \S+ and expects \d+ % of the points", answer)
    assert "Taken back: 2 plies" in back
    assert game.render(game.initial_state()).ansi(colour=False) in back
    assert "The opponent plays" in again
    assert str(file) in saved
    (record,) = get_game_data(game).readers[suffix](file.read_bytes())
    assert len(record.actions) == 2
    assert record.result is None


def test_hints_show_the_nets_own_policy() -> None:
    game = get_game("connect4")
    state, evaluator = game.initial_state(), RandomEvaluator(game)
    adviser = NetAdviser("net", NetEngine(game, evaluator), nodes=30)
    advice = adviser.think(state, [])
    logits, wdl, _ = evaluator.evaluate(state.observe("stones")[None])
    favourite = max(advice.moves, key=lambda move: move.policy or 0)
    assert favourite.action == int(logits[0].argmax())
    assert sum(move.policy or 0 for move in advice.moves) == pytest.approx(1)
    assert advice.net_score == pytest.approx(float(wdl[0, 0] + wdl[0, 1] / 2))


def test_low_levels_choose_freely_and_high_ones_take_the_best() -> None:
    game = get_game("connect4")
    adviser = NetAdviser("net", NetEngine(game, RandomEvaluator(game)), nodes=1)
    adviser.set_level(1)
    advice = adviser.think(game.initial_state(), [])
    assert len({adviser.choose(advice) for _ in range(100)}) > 3
    adviser.set_level(len(LEVELS))
    assert {adviser.choose(advice) for _ in range(20)} == {advice.best}


def test_a_search_of_an_adviser_can_be_stopped() -> None:
    game = get_game("connect4")
    stop = threading.Event()
    stop.set()
    for adviser in (
        NetAdviser("net", NetEngine(game, RandomEvaluator(game)), nodes=100_000),
        RolloutAdviser(game, nodes=100_000),
    ):
        assert adviser.think(game.initial_state(), [], stop=stop).nodes < 1000


def test_a_hint_does_not_make_a_weak_level_stronger() -> None:
    game = get_game("connect4")
    adviser = NetAdviser("net", NetEngine(game, RandomEvaluator(game)), nodes=400)
    adviser.think(game.initial_state(), [])
    adviser.set_level(1)
    assert adviser.think(game.initial_state(), []).nodes == LEVELS[0].nodes == 1


def test_wrong_input_is_answered_with_what_is_possible() -> None:
    said = talk("connect4", "e4", "9", "level 0", "nodes many", "save", "new third", "save x.pgn")
    assert "You can play 1, 2, 3, 4, 5, 6, 7; or type help" in said[1]
    assert "write a column, 1 to 7" in said[2]
    assert "from 1 (weakest) to 10" in said[3]
    assert "from 1 to" in said[4]
    assert "formats: txt" in said[5]
    assert "first, second or random" in said[6]
    assert "saved as .txt" in said[7]


def test_after_the_end_only_new_undo_save_and_quit_make_sense() -> None:
    lost = "7/7/7/o6/ox5/ox3x1 x"
    adviser = RolloutAdviser(get_game("connect4"), nodes=300)  # sees a win at once
    lines = ("7", "hint", "4", "moves", "undo", "1")
    said = talk("connect4", *lines, position=lost, adviser=adviser)
    assert "The opponent wins (four in a row)" in said[1]
    assert all("game is over" in answer for answer in said[2:5])
    assert "Taken back: 2 plies" in said[5]
    assert "wins" not in said[6]


def test_resigning_ends_the_game_and_can_be_taken_back() -> None:
    said = talk("connect4", "resign", "resign", "undo", "4")
    assert "The opponent wins (resignation)" in said[1]
    assert "over already" in said[2]
    assert "go on after all" in said[3]
    assert "The opponent plays" in said[4]


def test_sides_can_be_chosen_and_changed() -> None:
    said = talk("connect4", "swap", "new second", "new first", person=1)
    assert "The opponent plays" in said[0]
    assert "You play first now" in said[1]
    assert "The opponent plays" in said[1]  # it was the person's turn
    assert "The opponent plays" in said[2]
    assert "The opponent plays" not in said[3]


def test_the_opponent_can_move_for_the_person() -> None:
    said = talk("connect4", "go")
    assert "For you: " in said[1]
    assert "The opponent plays" in said[1]


def test_nothing_can_be_taken_back_at_the_start() -> None:
    said = talk("connect4", "undo", "", "board")
    assert "nothing to take back" in said[1]
    assert said[2] == ""
    assert said[3].count("\n") == 7


def test_whoever_can_only_pass_passes() -> None:
    """Othello 4x4: after x takes the last neighbour, o has no move."""
    game = get_game("othello:size=4")
    found = None
    stack = [game.initial_state()]
    while found is None:
        state = stack.pop()
        for action in state.legal_actions().tolist():
            after = state.play(action)
            moves = [game.format_action(after, int(a)) for a in after.legal_actions()]
            if moves == ["pass"]:
                found = (state, game.format_action(state, action))
            stack.append(after)
    state, move = found
    said = talk("othello:size=4", move, person=state.to_play, position=game.format_state(state))
    assert "The opponent can only pass" in said[1]


def test_without_a_net_rollouts_play() -> None:
    game = get_game("connect4")
    adviser = RolloutAdviser(game, nodes=1)
    adviser.set_level(6)
    said = talk("connect4", "hint", "4", "level 5", adviser=adviser)
    assert "at first sight" not in said[1]
    assert "600 nodes" in said[2]
    assert "300 nodes a move" in said[3]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    game = get_game("connect4")
    path = tmp_path_factory.mktemp("nets") / "small.safetensors"
    save_net(path, build_model(game.parse_net("res_3x3_1x8"), game, seed=1))
    return path


def run_play(*arguments: str, typed: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zerogames", "play", *arguments]
    return subprocess.run(
        command, input=typed, capture_output=True, text=True, cwd=folder, timeout=120
    )


def test_a_pipe_plays_a_game_and_its_end_leaves(net: Path, tmp_path: Path) -> None:
    done = run_play(
        "--game", "connect4", "--net", str(net), "--nodes", "4", typed="4\n", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "small.safetensors, 4 nodes a move" in done.stdout
    assert "The opponent plays" in done.stdout
    assert "\x1b[" not in done.stdout
    assert done.stderr == ""


def test_a_terminal_gets_colours(net: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "zerogames", "play", "--game", "connect4"]
    command += ["--net", str(net), "--level", "1", "--side", "second"]
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    child = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, cwd=tmp_path, env=environment
    )
    os.close(slave)
    try:
        assert "The opponent plays" in read_until(master, "second> ")
        os.write(master, b"4\n")
        shown = read_until(master, "second> ")
        assert "\x1b[48;2;" in shown
        os.write(master, b"quit\n")
        assert child.wait(timeout=60) == 0
    finally:
        child.kill()
        child.wait()
        os.close(master)


def read_until(terminal: int, text: str) -> str:
    shown, end = "", time.monotonic() + 90
    while text not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "checkers"], "unknown game"),
        (["--game", "connect4", "--net", "nowhere.safetensors"], "nowhere.safetensors"),
        (["--game", "connect4", "--level", "11"], "--level"),
        (["--game", "connect4", "--nodes", "-3"], "--nodes"),
        (["--game", "connect4", "--position", "7/7 x"], "6 rows"),
        (["--game", "connect4", "--position", "startpos moves 1 2 1 2 1 2 1"], "over"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
