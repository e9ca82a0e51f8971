"""Conversations in the Go Text Protocol."""

import io
import json
import time
from pathlib import Path

import pytest
from gtp_client import Conversation
from zerogames_go.gtp.command import first_game
from zerogames_go.gtp.player import GoPlayer
from zerogames_go.gtp.protocol import MAX_LINE, Request, format_answer, parse_request
from zerogames_go.gtp.session import read_lines
from zerogames_go.gtp.settings import GtpSettings
from zerogames_go.gtp.table import Table

import zerogames
from zerogames.errors import UserError
from zerogames.nets.file import save_net
from zerogames.nets.model import build_model
from zerogames.runs.net_source import find_net, shipped_net

REQUIRED = {
    *("protocol_version", "name", "version", "known_command", "list_commands", "quit"),
    *("boardsize", "clear_board", "komi", "play", "genmove", "undo", "showboard"),
    *("fixed_handicap", "place_free_handicap", "set_free_handicap", "loadsgf", "reg_genmove"),
    *("time_settings", "time_left", "final_score", "final_status_list"),
}


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def make_net(folder: Path, name: str, *, size: int = 5) -> Path:
    game = zerogames.get_game(f"go:size={size}")
    path = folder / "net.safetensors"
    save_net(path, build_model(game.parse_net(name), game))
    return path


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("7 play b D4\r\n", Request("7", "play", ("b", "D4"))),
        ("\tname  # what are you?", Request("", "name", ())),
        ("0012 na\x00me\x1b", Request("0012", "name", ())),
        ("komi\t6.5", Request("", "komi", ("6.5",))),
        ("5", Request("5", "", ())),
        ("5x", Request("", "5x", ())),
        ("# only a comment", None),
        ("   \r\n", None),
        ("", None),
    ],
)
def test_lines_are_read_as_the_protocol_says(line: str, request_: Request | None) -> None:
    assert parse_request(line) == request_


def test_answers_end_with_one_empty_line() -> None:
    assert format_answer(Request("3", "x", ()), "a\n\nb\n") == "=3 a\nb\n\n"
    assert format_answer(Request("", "x", ()), "") == "=\n\n"
    assert format_answer(Request("1", "x", ()), "no", failed=True) == "?1 no\n\n"


def test_over_long_lines_and_foreign_bytes_are_one_line_each() -> None:
    data = b"a" * (3 * MAX_LINE) + b"\nname\n\xff\xfe play\nquit"
    lines = list(read_lines(io.BytesIO(data)))
    assert [line[:4].strip() for line in lines] == ["aaaa", "name", "\ufffd\ufffd p", "quit"]


def test_administrative_commands(talk: Conversation) -> None:
    assert talk.ask("protocol_version") == "2"
    assert talk.ask("name") == "zerogames"
    assert talk.ask("version") == zerogames.__version__
    commands = talk.ask("list_commands").split()
    assert set(commands) >= REQUIRED
    assert all(talk.ask(f"known_command {command}") == "true" for command in commands)
    assert talk.ask("known_command fly") == "false"
    assert talk.ask("known_command") == "false"
    assert talk.raw("12 name") == "=12 zerogames\n\n"
    assert talk.raw("12 fly") == "?12 unknown command\n\n"
    assert talk.raw("12") == "?12 unknown command\n\n"
    assert talk.raw("# nothing") == ""


def test_quit_is_answered_and_ends_the_conversation(talk: Conversation) -> None:
    talk.session.run(io.BytesIO(b"1 name\n2 quit\n3 name\n"))
    assert talk.output.getvalue() == "=1 zerogames\n\n=2\n\n"


def test_board_size_and_komi(talk: Conversation) -> None:
    talk.ask("boardsize 9")
    talk.ask("komi 6.5")
    assert talk.ask("get_komi") == "6.5"
    assert talk.fails("boardsize 26") == "unacceptable size"
    assert talk.fails("boardsize -3") == "unacceptable size"
    assert "syntax error" in talk.fails("boardsize nine")
    assert "syntax error" in talk.fails("boardsize")
    assert "syntax error" in talk.fails("komi half")
    assert talk.fails("komi 1e9") == "unacceptable komi"
    assert talk.fails("rectangular_boardsize 9 7").startswith("unacceptable size")
    talk.ask("rectangular_boardsize 7 7")
    # Komi survives a new board.
    assert talk.ask("get_komi") == "6.5"


def test_moves_of_both_colours_and_undo(talk: Conversation) -> None:
    talk.moves("bB3 wC3")
    talk.ask("play BLACK d4")
    talk.ask("play White PASS")
    assert talk.fails("play w B3") == "illegal move"
    assert "syntax error" in talk.fails("play w I3")
    assert "syntax error" in talk.fails("play blue B3")
    assert "syntax error" in talk.fails("play w")
    assert talk.ask("is_legal w B3") == "0"
    assert talk.ask("is_legal b A1") == "1"
    assert "A1" in talk.ask("all_legal w").split()
    for _ in range(4):
        talk.ask("undo")
    assert talk.fails("undo") == "cannot undo"
    assert "X" not in talk.ask("showboard")


def test_showboard_draws_the_stones(talk: Conversation) -> None:
    talk.moves("bB3 wC3")
    assert "3 . X O . ." in talk.ask("showboard")


def test_generated_moves_are_legal_and_played(talk: Conversation) -> None:
    for colour in "bwbw":
        before = talk.ask(f"all_legal {colour}").split()
        move = talk.ask(f"genmove {colour}")
        assert move in before
        assert move not in talk.ask(f"all_legal {colour}").split()


def test_regression_moves_are_not_played_and_repeatable(talk: Conversation) -> None:
    first = talk.ask("reg_genmove b")
    assert talk.ask("reg_genmove b") == first
    assert talk.ask("is_legal b " + first) == "1"


def test_a_whole_game_ends_by_passes_with_a_score(talk: Conversation) -> None:
    talk = Conversation(size=4, nodes=8, resign=0)
    passes = 0
    for ply in range(400):
        passes = passes + 1 if talk.ask(f"genmove {'bw'[ply % 2]}") == "pass" else 0
        if passes == 2:
            break
    assert passes == 2
    score = talk.ask("final_score")
    assert score == "0" or score[:2] in ("B+", "W+")
    # By Tromp-Taylor all stones of a finished game count where they stand.
    assert talk.ask("final_status_list dead") == ""
    assert talk.ask("final_status_list seki") == ""
    assert talk.fails("final_status_list zombie").startswith("syntax error")


def test_dead_stones_are_listed_by_chain(talk: Conversation) -> None:
    talk.ask("kgs-rules chinese")
    talk.moves("bC1 wD1 bC2 wD2 bC3 wD3 bC4 wD4 bC5 wD5 wB2 bA4 wE3 bpass wpass")
    assert talk.ask("final_status_list dead") == "B2"
    alive = talk.ask("final_status_list alive").split("\n")
    assert "C1 C2 C3 C4 C5" in alive
    assert talk.ask("final_score")[:2] == "W+"


def test_handicap(talk: Conversation) -> None:
    talk.ask("boardsize 9")
    assert set(talk.ask("fixed_handicap 2").split()) == {"C3", "G7"}
    assert talk.fails("fixed_handicap 2") == "board not empty"
    assert talk.ask("genmove w")
    talk.ask("clear_board")
    assert talk.fails("fixed_handicap 10") == "invalid number of stones"
    assert len(talk.ask("place_free_handicap 11").split()) == 11
    talk.ask("clear_board")
    talk.ask("set_free_handicap A1 E5 J9")
    assert talk.ask("all_legal w").split().count("E5") == 0
    talk.ask("clear_board")
    assert talk.fails("set_free_handicap A1 A1") == "bad vertex list"
    assert talk.fails("set_free_handicap A1 pass") == "bad vertex list"
    assert "syntax error" in talk.fails("set_free_handicap A1")
    assert "syntax error" in talk.fails("fixed_handicap")


def test_rules_in_the_forms_of_kgs_and_katago(talk: Conversation) -> None:
    talk.ask("kgs-rules japanese")
    assert json.loads(talk.ask("kata-get-rules"))["ko"] == "SIMPLE"
    talk.ask('kata-set-rules {"ko": "SITUATIONAL", "suicide": true, "scoring": "AREA"}')
    assert json.loads(talk.ask("kata-get-rules"))["ko"] == "SITUATIONAL"
    talk.ask("kata-set-rule suicide false")
    assert json.loads(talk.ask("kata-get-rules"))["suicide"] is False
    assert "scoring" in talk.fails("kata-set-rule scoring TERRITORY")
    talk.fails("kgs-rules martian")


def test_rules_that_forbid_a_move_of_the_game_are_refused(talk: Conversation) -> None:
    talk.moves("wA1 bB1 bB2 bA3 wA2")  # two white stones die by the last move
    assert "move 5" in talk.fails("kata-set-rules chinese")
    assert talk.ask("kata-get-rules").count("true") == 1


def test_sgf_files(talk: Conversation, tmp_path: Path) -> None:
    path = tmp_path / "a game.sgf"
    talk.ask("boardsize 9")
    talk.ask("komi 5.5")
    talk.moves("bC3 wD4 bE5")
    talk.ask(f"printsgf {path}")
    assert path.read_text() == talk.ask("printsgf") + "\n"
    talk.ask("boardsize 5")
    talk.ask(f"loadsgf {path} 3")
    assert talk.ask("get_komi") == "5.5"
    board = talk.ask("showboard")
    assert (board.count(" X"), board.count(" O")) == (1, 1)
    assert talk.fails("loadsgf /no/such.sgf") == "cannot load file"
    path.write_text("(;SZ[9];B[aa];W[aa])")
    assert talk.fails(f"loadsgf {path}").startswith("cannot load file: move 2")
    path.write_text("no game")
    talk.fails(f"loadsgf {path}")
    talk.fails(f"printsgf {tmp_path / 'no' / 'folder' / 'x.sgf'}")
    assert talk.ask("showboard") == board


def test_time_commands_bound_the_thinking() -> None:
    talk = Conversation(size=9, nodes=None)
    talk.ask("time_settings 0 1 5")
    talk.ask("time_left b 1 5")
    began = time.monotonic()
    talk.ask("genmove b")
    assert time.monotonic() - began < 1
    assert talk.table.left[0].stones == 4
    assert "fischer" in talk.ask("kata-list_time_settings")
    talk.ask("kata-time_settings fischer 10 0.1")
    talk.ask("kgs-time_settings byoyomi 0 0.2 3")
    talk.ask("genmove w")
    talk.ask("time_settings 0 1 0")
    assert talk.table.time.kind == "none"
    assert "syntax error" in talk.fails("time_left b 3")
    assert "syntax error" in talk.fails("kgs-time_settings hourglass 3")


def test_analysis_runs_until_the_next_line(talk: Conversation) -> None:
    assert talk.raw("4 lz-analyze b 1 maxmoves 3").startswith("=4\n")
    time.sleep(0.2)
    talk.session.answer("")
    assert talk.output.getvalue().endswith("\n\n")
    talk.session.answer("5 kata-analyze interval 1 ownership true rootInfo true minmoves 2")
    time.sleep(0.3)
    talk.session.answer("6 name")
    lines = talk.output.getvalue().splitlines()
    assert lines[-2:] == ["=6 zerogames", ""]
    infos = [line for line in lines if line.startswith("info move")]
    assert len(infos) >= 2
    words = infos[-1].split()
    assert words.count("move") >= 2
    owned = [float(word) for word in words[words.index("ownership") + 1 :]]
    assert len(owned) == 25
    assert max(map(abs, owned)) <= 1
    assert "rootInfo" in words
    rate = float(words[words.index("winrate") + 1])
    assert 0 <= rate <= 1


def test_leela_style_lines_have_whole_numbers_and_order(talk: Conversation) -> None:
    talk.session.answer("lz-analyze w 1 maxmoves 3")
    time.sleep(0.2)
    talk.session.answer("")
    line = talk.output.getvalue().splitlines()[-2]
    parts = line.split("info ")[1:]
    assert 1 <= len(parts) <= 3
    for order, part in enumerate(parts):
        fields, _, variation = part.partition(" pv ")
        words = fields.split()
        values = dict(zip(words[::2], words[1::2], strict=True))
        assert int(values["order"]) == order
        assert 0 <= int(values["winrate"]) <= 10_000
        assert int(values["lcb"]) <= int(values["winrate"])
        assert variation.split()[0] == values["move"]
    visits = [int(part.split()[3]) for part in parts]
    assert visits[1:] == sorted(visits[1:], reverse=True)


def test_analysis_of_chosen_moves_only(talk: Conversation) -> None:
    talk.session.answer("lz-analyze b 1 allow b A1,B2 1")
    time.sleep(0.1)
    talk.session.answer("")
    line = talk.output.getvalue().splitlines()[-2]
    assert {part.split()[1] for part in line.split("info ")[1:]} <= {"A1", "B2"}
    talk.moves("bA1 wB2")
    assert "legal" in talk.fails("lz-analyze b 1 allow b A1,B2 1")
    assert "syntax error" in talk.fails("lz-analyze b 1 fly 3")
    assert "syntax error" in talk.fails("lz-analyze b interval")


def test_a_move_with_analysis_ends_by_itself(talk: Conversation) -> None:
    answer = talk.raw("9 kata-genmove_analyze b 1")
    assert answer.startswith("=9\ninfo move ")
    played = answer.splitlines()[-2]
    assert played.startswith("play ")
    assert talk.ask(f"is_legal w {played.split()[1]}") == "0"


def test_the_engine_passes_to_win_after_a_pass() -> None:
    talk = Conversation(size=5, resign=0)
    talk.ask("komi -30")
    talk.moves("bC1 wD1 bC2 wD2 bC3 wD3 bC4 wD4 bC5 wD5 bpass wpass")
    talk.ask("undo")
    talk.ask("play w pass")
    talk.moves("bB3 wpass")
    assert talk.ask("genmove b") == "pass"
    talk.ask("komi 30")
    talk.ask("undo")
    assert talk.ask("genmove b") != "pass"


def test_resigns_a_hopeless_game_and_says_so(tmp_path: Path) -> None:
    talk = Conversation(size=5, resign=1.0, resign_turns=2)
    assert talk.ask("genmove b") != "resign"
    assert talk.ask("genmove b") == "resign"
    assert talk.ask("final_score") == "W+R"
    assert "RE[W+R]" in talk.ask("printsgf")
    assert talk.ask("kgs-genmove_cleanup b") != "resign"
    talk.ask("clear_board")
    assert talk.ask("final_score") != "W+R"


def test_a_convolutional_net_plays_on_any_board(tmp_path: Path) -> None:
    net = make_net(tmp_path, "mob_3x3_1x8+gap")
    talk = Conversation(size=5, net=net, evaluator="torch", nodes=4)
    talk.ask("genmove b")
    talk.ask("boardsize 7")
    move = talk.ask("genmove b")
    talk.ask("undo")
    assert move in talk.ask("all_legal b").split()


def test_a_net_for_one_size_refuses_others_and_goes_on(tmp_path: Path) -> None:
    net = make_net(tmp_path, "a0.1.8")
    talk = Conversation(size=5, net=net, evaluator="torch", nodes=4)
    talk.moves("bC3")
    assert "for 5x5 boards only" in talk.fails("boardsize 9")
    assert "C3" not in talk.ask("all_legal w").split()
    talk.ask("genmove w")


def test_a_net_without_pass_plays_by_the_rule_of_the_papers(tmp_path: Path) -> None:
    net = make_net(tmp_path, "mob_3x3_1x8+gap+nopass")
    talk = Conversation(size=3, net=net, evaluator="torch", nodes=4, resign=0)
    for ply in range(200):
        colour = "bw"[ply % 2]
        state = talk.table.played.state_for(ply % 2)
        sensible = state.sensible_actions().tolist()
        may_end = state.passes > 0
        move = talk.ask(f"genmove {colour}")
        if move == "pass":
            assert may_end or not sensible
        if talk.table.played.state.result is not None:
            break
    assert talk.table.played.state.result is not None


def test_the_newest_net_of_a_run_plays_when_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "go-train"
    folder.mkdir(parents=True)
    make_net(folder, "mob_3x3_1x8+gap", size=9)
    options = first_game(GtpSettings()).options
    assert options.size == 9
    Table(GoPlayer(GtpSettings(evaluator="torch")), options)
    assert "runs/go-train/net.safetensors" in capsys.readouterr().err
    with pytest.raises(UserError, match="there is no net for go:size=25"):
        first_game(GtpSettings(game="go:size=25"))
    with pytest.raises(UserError, match="gtp plays go"):
        first_game(GtpSettings(game="chess", evaluator="random"))


@pytest.mark.parametrize(
    ("size", "net"), [(7, "go7"), (9, "go9"), (13, "katago-b6c96"), (19, "katago-b6c96")]
)
def test_every_board_size_has_a_shipped_net(
    size: int, net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    game = zerogames.get_game(f"go:size={size}")
    found = shipped_net(game)
    assert found is not None
    assert found.stem == net
    assert find_net(None, game).path == found
