"""Conversations in this process."""

import io
import threading
import time
from pathlib import Path

import chess
import pytest
from zerogames_chess.nnue.uci import NnueEngine
from zerogames_chess.uci import Session
from zerogames_chess.uci.net_engine import UciNetEngine
from zerogames_chess.uci.position import UciPosition
from zerogames_chess.uci.settings import UciSettings

from zerogames.errors import UserError
from zerogames.protocol import Engine, SessionLimits
from zerogames.protocol.limits import GoLimits
from zerogames.protocol.options import Option, OptionTable, parse_integer

FOOLS_MATE = "f2f3 e7e5 g2g4 d8h4"
THREEFOLD = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8"


class Talk:
    """A session with what it said."""

    def __init__(self, engine: Engine, **settings: object) -> None:
        self._output = io.StringIO()
        limits = SessionLimits(**settings)  # type: ignore[arg-type]
        self.session = Session(engine, self._output, limits)

    def say(self, *lines: str) -> None:
        for line in lines:
            assert self.session.answer(line)

    def finish(self) -> list[str]:
        """Wait for a search that ends by itself."""
        worker = self.session._worker
        if worker is not None:
            worker.join(30)
            assert not worker.is_alive()
        return self._output.getvalue().splitlines()

    def ask(self, *lines: str) -> list[str]:
        before = len(self._output.getvalue().splitlines())
        self.say(*lines)
        return self.finish()[before:]


@pytest.fixture(params=["net", "nnue"])
def engine(request: pytest.FixtureRequest, small_nnue: Path) -> Engine:
    if request.param == "nnue":
        return NnueEngine(small_nnue)
    return UciNetEngine(UciSettings(net=None, evaluator="random", batch=4, hash=4, threads=1))


@pytest.fixture
def talk(engine: Engine) -> Talk:
    return Talk(engine)


def best_of(lines: list[str]) -> str:
    moves = [line for line in lines if line.startswith("bestmove")]
    assert len(moves) == 1
    return moves[0].split()[1]


def test_introduction_names_all_options_with_ranges(talk: Talk) -> None:
    said = talk.ask("uci")
    assert said[0].startswith("id name zerogames")
    assert said[-1] == "uciok"
    names = [line.split(" type ")[0].removeprefix("option name ") for line in said[2:-1]]
    for name in ("Threads", "Hash", "MultiPV", "Ponder", "MoveOverhead", "UCI_Chess960"):
        assert name in names
    assert all(" min " in line and " max " in line for line in said if " spin " in line)


@pytest.mark.parametrize(
    "go", ["go nodes 50", "go depth 3", "go movetime 30", "go wtime 500 btime 400 winc 10 binc 10"]
)
@pytest.mark.parametrize("moves", ["", "moves e2e4", "moves e2e4 e7e5 g1f3"])
def test_every_limit_gives_a_legal_move(talk: Talk, go: str, moves: str) -> None:
    said = talk.ask("ucinewgame", "isready", f"position startpos {moves}", go)
    board = chess.Board()
    for move in moves.split()[1:]:
        board.push_uci(move)
    assert chess.Move.from_uci(best_of(said)) in board.legal_moves


def test_info_lines_have_all_parts_and_playable_lines(talk: Talk) -> None:
    said = talk.ask("setoption name MultiPV value 3", "position startpos", "go nodes 200")
    infos = [line.split() for line in said if line.startswith("info depth")]
    assert {words[words.index("multipv") + 1] for words in infos} == {"1", "2", "3"}
    for words in infos:
        for name in ("depth", "seldepth", "nodes", "nps", "score", "hashfull", "time", "pv"):
            assert name in words
        board = chess.Board()
        for text in words[words.index("pv") + 1 :]:
            board.push(board.parse_uci(text))
    last = {words[words.index("pv") + 1] for words in infos[-3:]}
    assert len(last) == 3


def test_wdl_is_shown_when_wanted() -> None:
    talk = Talk(UciNetEngine(UciSettings(net=None, evaluator="random", hash=4, threads=1)))
    assert not any(" wdl " in line for line in talk.ask("go nodes 20"))
    said = talk.ask("setoption name UCI_ShowWDL value true", "go nodes 20")
    words = said[-2].split()
    at = words.index("wdl")
    assert sum(map(int, words[at + 1 : at + 4])) == 1000
    assert words[at + 4] == "hashfull"


def test_no_move_is_said_only_where_none_is_legal(talk: Talk) -> None:
    assert best_of(talk.ask(f"position startpos moves {FOOLS_MATE}", "go nodes 5")) == "(none)"
    said = talk.ask("position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "go infinite")
    assert best_of(said) == "(none)"


@pytest.mark.parametrize(
    "position",
    [
        f"startpos moves {THREEFOLD}",
        f"startpos moves {THREEFOLD} {THREEFOLD} e2e4",
        "fen 7k/8/8/8/8/8/R7/K7 w - - 100 90",
        "fen 7k/8/8/8/8/8/R7/K7 w - - 99 90 moves a2a3 h8g8 a3a4",
        "fen 7k/8/8/8/8/8/8/K7 w - - 0 1",
        "fen 7k/8/8/8/8/8/8/K7 w - - 0 1 moves a1a2 h8g8 a2a3",
        "fen 7k/8/8/8/8/8/r7/K7 w - - 0 1 moves a1a2 h8g8",
    ],
)
def test_games_that_the_rules_ended_are_played_on(talk: Talk, position: str) -> None:
    words = position.split()
    end = words.index("moves") if "moves" in words else len(words)
    board = chess.Board(" ".join(words[1:end])) if words[0] == "fen" else chess.Board()
    for move in words[end + 1 :]:
        board.push_uci(move)
    said = talk.ask(f"position {position}", "go nodes 30")
    assert chess.Move.from_uci(best_of(said)) in board.legal_moves


def test_searchmoves_are_obeyed(talk: Talk) -> None:
    mate = "position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"
    assert best_of(talk.ask(mate, "go nodes 300")) == "a1a8"
    assert best_of(talk.ask("go nodes 100 searchmoves a1a2 g1h1")) in ("a1a2", "g1h1")
    said = talk.ask("go searchmoves a1h8 g1g2 nodes 40")
    assert best_of(said) == "g1g2"
    assert any("'a1h8' is not legal" in line for line in said)
    assert best_of(talk.ask("go searchmoves a1h8 xx nodes 40")) != "(none)"


def test_mate_is_announced(talk: Talk) -> None:
    said = talk.ask("position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "go mate 1")
    assert best_of(said) == "a1a8"
    assert any("score mate 1 " in line for line in said)


def test_infinite_searches_wait_for_stop(talk: Talk) -> None:
    talk.say("position startpos", "go infinite")
    time.sleep(0.1)
    assert not any(line.startswith("bestmove") for line in talk._output.getvalue().splitlines())
    talk.say("isready")
    assert "readyok" in talk._output.getvalue()
    assert best_of(talk.ask("stop")) != "(none)"


def test_a_decided_search_waits_for_stop_too(talk: Talk) -> None:
    talk.say("position fen 7k/8/8/8/8/1r6/r7/K7 w - - 0 1", "go infinite depth 2")
    time.sleep(0.15)
    assert "bestmove" not in talk._output.getvalue()
    assert best_of(talk.ask("stop")) == "a1a2"


def test_pondering_ends_by_hit_or_stop(talk: Talk) -> None:
    clock = "wtime 300 btime 300 winc 0 binc 0"
    talk.say("position startpos moves e2e4 e7e5", f"go ponder {clock}")
    time.sleep(0.1)
    assert "bestmove" not in talk._output.getvalue()
    began = time.monotonic()
    assert best_of(talk.ask("ponderhit"))
    assert time.monotonic() - began < 10
    talk.say(f"go ponder {clock}")
    time.sleep(0.02)
    assert best_of(talk.ask("stop"))
    assert talk.ask("ponderhit", "stop", "ponderhit") == []


def test_go_during_a_search_ends_it_first(talk: Talk) -> None:
    talk.say("go infinite")
    said = talk.ask("go nodes 5")
    assert sum(line.startswith("bestmove") for line in said) == 2


def test_chess960_castling_is_the_king_taking_its_rook(talk: Talk) -> None:
    fen = "nrbknbrq/pppppppp/8/8/8/8/PPPPPPPP/1RK3RQ w GBgb - 0 1"
    said = talk.ask(
        "setoption name UCI_Chess960 value true",
        f"position fen {fen}",
        "go nodes 20 searchmoves c1g1",
    )
    assert best_of(said) == "c1g1"
    said = talk.ask(f"position fen {fen} moves c1g1 h7h6", "d", "go nodes 20")
    assert "1R3RKQ w kq" in said[0]


def test_own_limits_bound_every_move(small_nnue: Path) -> None:
    net = UciNetEngine(UciSettings(net=None, evaluator="random", hash=4, threads=1))
    talk = Talk(net, nodes=7)
    said = talk.ask("go movetime 5000")
    assert " nodes 7 " in said[-2]
    talk = Talk(net, move_time_s=0.05)
    began = time.monotonic()
    talk.ask("go nodes 100000000")
    assert time.monotonic() - began < 10


def test_perft(talk: Talk) -> None:
    said = talk.ask("position startpos", "go perft 3")
    assert said[-1] == "Nodes searched: 8902"
    assert len(said) == 21
    assert "error" in talk.ask("go perft 99")[-1]


BAD_LINES = (
    "position",
    "position fen",
    "position fen x y z",
    "position startpos moves e2e5",
    "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
    "position startpos e2e4",
    "setoption",
    "setoption name",
    "setoption name Hash value -1",
    "setoption name Hash value abc",
    "setoption name Hash value " + "9" * 5000,
    "setoption name Nothing value 1",
    "setoption name UCI_Chess960 value perhaps",
    "debug maybe",
    "nonsense",
    "\x00\xff",
)


@pytest.mark.parametrize("line", BAD_LINES)
def test_mistakes_are_answered_and_change_nothing(talk: Talk, line: str) -> None:
    talk.say("position startpos moves e2e4")
    said = talk.ask(line)
    expected = [] if line == "position startpos e2e4" else ["info string"]
    assert [" ".join(text.split()[:2]) for text in said] == expected
    if expected:
        assert " b " in talk.ask("d")[0]


def test_words_before_a_command_are_passed_over(talk: Talk) -> None:
    assert talk.ask("joho isready") == ["readyok"]
    assert talk.ask("", "   ", "\t") == []


def test_unreadable_limits_are_left_out(talk: Talk) -> None:
    said = talk.ask("go depth x nodes 20 wtime hello")
    assert sum("is not a number" in line for line in said) == 2
    assert best_of(said)


def test_a_pipe_gets_all_answers_and_long_lines_are_skipped(engine: Engine) -> None:
    output = io.StringIO()
    text = b"position startpos\ngo nodes 300\n"
    Session(engine, output).run(io.BytesIO(b"x" * 3_000_000 + b"\n" + text))
    said = output.getvalue().splitlines()
    assert "too long" in said[0]
    assert best_of(said)


def test_a_pipe_that_ends_stops_an_infinite_search(engine: Engine) -> None:
    for end in (b"", b"quit\n"):
        output = io.StringIO()
        Session(engine, output).run(io.BytesIO(b"go infinite\n" + end))
        assert best_of(output.getvalue().splitlines())


def test_a_failing_engine_still_gives_a_legal_move() -> None:
    talk = Talk(UciNetEngine(UciSettings(net=Path("/nowhere/net.safetensors"), threads=1)))
    said = talk.ask("isready", "go nodes 10")
    assert said[0].startswith("info string error")
    assert said[1] == "readyok"
    assert chess.Move.from_uci(best_of(said)) in chess.Board().legal_moves


def test_options_of_the_net_engine(small_net: Path, tmp_path: Path) -> None:
    talk = Talk(UciNetEngine(UciSettings(net=None, evaluator="random", hash=4, threads=1)))
    assert "no net file" in talk.ask("setoption name WeightsFile value /nowhere/x.pb.gz")[0]
    assert "Cpuct" in talk.ask("setoption name Cpuct value -3")[0]
    assert talk.ask("setoption name cpuct value 2.5", "setoption name Clear Hash") == []
    assert best_of(talk.ask("go nodes 10"))
    said = talk.ask(
        f"setoption name WeightsFile value {small_net}",
        "setoption name Backend value onnx",
        "setoption name threads value 1",
        "isready",
        "eval",
        "go nodes 10",
    )
    assert said[0] == "readyok"
    assert said[1].startswith("info string win ")
    assert best_of(said)
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"nonsense")
    said = talk.ask(f"setoption name WeightsFile value {broken}", "isready", "go nodes 10")
    assert any("error" in line for line in said)
    assert best_of(said)


def test_stop_races_the_start_of_a_search(talk: Talk) -> None:
    for _ in range(30):
        assert len(talk.ask("go infinite", "stop")) >= 1
    threads = threading.active_count()
    assert threads < 20


def test_limits_are_read_in_any_order() -> None:
    text = "searchmoves e2e4 d2d4 infinite wtime 5 btime -7 nodes"
    limits = GoLimits.parse(text.split())
    assert limits.moves == ("e2e4", "d2d4")
    assert limits.infinite
    assert limits.numbers == {"wtime": 5, "btime": -7}
    assert limits.problems == ("go nodes: '' is not a number",)
    limits = GoLimits.parse(["depth", "infinite", "nodes", "3"])
    assert limits.infinite
    assert limits.numbers == {"nodes": 3}


def test_short_fens_are_completed() -> None:
    for fen in ("4k3/8/8/8/8/8/8/4K2R", "4k3/8/8/8/8/8/8/4K2R b", "4k3/8/8/8/8/8/8/4K2R w K -"):
        assert len(UciPosition.parse(["fen", *fen.split()], chess960=False).state.fen.split()) == 6
    assert UciPosition.initial().ply == 0
    assert UciPosition.of(chess.STARTING_FEN, ["e2e4"], chess960=False).ply == 1


def test_numbers_are_bounded() -> None:
    assert parse_integer("12") == 12
    assert parse_integer("-12") == -12
    assert parse_integer("9" * 25) == 10**15
    assert [parse_integer(text) for text in ("", "x", "1.5", "9" * 31, "٣", "1_0")] == [None] * 6


def test_option_names_are_read_in_any_spelling() -> None:
    table = OptionTable([Option(name="MoveOverhead", kind="spin", default=9, low=0, high=10)])
    for name in ("MoveOverhead", "Move Overhead", "move_overhead", "MOVEOVERHEAD"):
        assert table.read(f"name {name} value 7")[1] == 7
    with pytest.raises(UserError, match="did you mean"):
        table.read("name MoveOverhed value 7")
