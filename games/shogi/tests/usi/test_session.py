"""Conversations in this process, and what happens when something fails."""

import io
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from zerogames_shogi.shogi_game import start_sfen
from zerogames_shogi.usi import UsiDialect, UsiPosition
from zerogames_shogi.usi_command import STAND_IN_NAME, open_stand_in

from zerogames.evaluate import ConstantEvaluator, Evaluation
from zerogames.protocol import Session, SessionLimits
from zerogames.protocol.net_engine import ProtocolNetEngine
from zerogames.protocol.settings import ProtocolSettings

START = start_sfen("none")
MATED = "8k/8G/8G/9/9/9/9/9/4K4 w - 1"
MATE_IN_ONE = "8k/9/6NGP/9/9/9/9/9/4K4 b - 1"
MATES = ("1c1b", "1c1b+")
DROP_MATE = "8k/9/6NG1/9/9/9/9/9/4K4 b P 1"
ENTERED = "1SGKGS3/9/RBGNSNLL1/9/9/9/9/9/4k4 b R3P 1"
REPEATED = " ".join(("2h3h", "8b7b", "3h2h", "7b8b") * 3)


def random_engine(batch: int = 4) -> ProtocolNetEngine:
    settings = ProtocolSettings(evaluator="random", batch=batch, hash=4, threads=1)
    return ProtocolNetEngine("shogi", settings)


def talk(*lines: str, engine: ProtocolNetEngine | None = None) -> list[str]:
    """What a session says until its searches have ended."""
    output = io.StringIO()
    limits = SessionLimits[UsiPosition](stand_in=open_stand_in, stand_in_name=STAND_IN_NAME)
    session = Session(engine or random_engine(), UsiDialect(), output, limits)
    session.run(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
    return output.getvalue().splitlines()


def legal_moves(position: str) -> list[str]:
    return UsiPosition.parse(position.split(), declares=True).legal_moves


def test_introduction_names_options_without_spaces() -> None:
    said = talk("usi")
    assert said[0].startswith("id name zerogames")
    assert said[-1] == "usiok"
    names = [line.split(" type ")[0].removeprefix("option name ") for line in said[2:-1]]
    assert {"Hash", "MultiPV", "Ponder", "EnteringKingRule", "Clear_Hash"} <= set(names)
    assert not any(" " in name for name in names)


@pytest.mark.parametrize(
    "go",
    [
        "go nodes 50",
        "go depth 3",
        "go movetime 30",
        "go btime 500 wtime 400 binc 10 winc 10",
        "go btime 0 wtime 0 byoyomi 50",
        "go btime 300 wtime 300 byoyomi 40",
    ],
)
@pytest.mark.parametrize("moves", ["", "moves 7g7f", "moves 7g7f 3c3d 8h2b+"])
def test_every_limit_gives_a_legal_move(go: str, moves: str) -> None:
    said = talk("usinewgame", "isready", f"position startpos {moves}", go)
    assert said[-1].split()[1] in legal_moves(f"startpos {moves}")
    assert not any("error" in line for line in said)


def test_byoyomi_is_used_and_kept() -> None:
    began = time.monotonic()
    said = talk("isready", "position startpos", "go btime 0 wtime 60000 byoyomi 700")
    spent = time.monotonic() - began
    assert said[-1].startswith("bestmove ")
    thought = max(int(line.split()[line.split().index("time") + 1]) for line in said[1:-1])
    assert 300 <= thought <= 700
    assert spent >= 0.4


def test_the_clock_is_that_of_the_side_to_move() -> None:
    began = time.monotonic()
    talk("isready", "position startpos moves 7g7f", "go btime 3600000 wtime 50")
    assert time.monotonic() - began < 20


def test_mate_is_found_and_told_in_plies() -> None:
    said = talk(f"position sfen {MATE_IN_ONE}", "go nodes 300")
    assert said[-1].split()[1] in MATES
    assert " score mate 1 " in said[-2]


def test_pawn_drop_mate_is_not_played() -> None:
    said = talk(f"position sfen {DROP_MATE}", "go nodes 300")
    assert said[-1].split()[1] != "P*1b"


@pytest.mark.parametrize(("sfen", "answer"), [(MATED, "resign"), (ENTERED, "win")])
def test_answers_without_a_move(sfen: str, answer: str) -> None:
    assert talk(f"position sfen {sfen}", "go infinite") == [f"bestmove {answer}"]


def test_without_the_rule_the_entering_king_plays_on() -> None:
    option = "setoption name EnteringKingRule value none"
    said = talk(option, f"position sfen {ENTERED}", "go nodes 20")
    assert said[-1].split()[1] in legal_moves(f"sfen {ENTERED}")


@pytest.mark.parametrize(
    "position",
    [
        f"startpos moves {REPEATED}",
        f"startpos moves {REPEATED} 7g7f",
        f"sfen {ENTERED} moves 6a7b",
        "sfen 4k4/9/9/9/9/9/9/R8/4K4 b - 1 moves 9h5h" + " 5a4a 5h4h 4a5a 4h5h" * 3,
    ],
)
def test_games_that_the_rules_ended_are_played_on(position: str) -> None:
    said = talk(f"position {position}", "go nodes 30")
    assert said[-1].split()[1] in legal_moves(position)


def test_problems_of_mate_are_refused_as_the_protocol_says() -> None:
    assert talk("go mate infinite", "go mate 1000") == ["checkmate notimplemented"] * 2


def test_end_of_a_game_needs_no_answer() -> None:
    said = talk("isready", "go ponder", "gameover lose", "isready")
    assert said[-1] == "readyok"
    assert sum(line.startswith("bestmove") for line in said) == 1


def test_other_names_of_options() -> None:
    assert not talk("setoption name USI_Hash value 8", "setoption name USI_Ponder value true")
    assert "error" in talk("setoption name USI_Hash value 0")[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("position", "position: write `startpos` or `sfen SFEN`"),
        ("position sfen x", "SFEN:"),
        ("position startpos moves 7g7e", "'7g7e' is not legal here"),
        ("setoption name Nothing value 1", "unknown option"),
        ("rubbish", "unknown command"),
    ],
)
def test_mistakes_are_answered_in_one_line(line: str, message: str) -> None:
    (said,) = talk(line)
    assert message in said
    assert said.startswith("info string")


def test_a_missing_net_is_told_and_a_search_without_it_plays() -> None:
    missing = ProtocolSettings(net=Path("/nowhere/net.safetensors"), threads=1)
    said = talk(
        f"position sfen {MATE_IN_ONE}",
        "go nodes 10",
        engine=ProtocolNetEngine("shogi", missing),
    )
    assert said[-1].split()[1] in MATES
    assert any(line.endswith(f"playing by {STAND_IN_NAME}") for line in said)


class Failing(ConstantEvaluator):
    """Fails for batches of more than `most` positions: no real evaluator does on demand."""

    most = 0

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        if len(planes) > self.most:
            raise MemoryError(f"a batch of {len(planes)}\nis too much")
        return super().evaluate(planes)


@pytest.mark.parametrize("most", [0, 1])
def test_a_failed_search_is_followed_by_smaller_ones(most: int) -> None:
    engine = random_engine(batch=64)
    engine.get_ready()
    assert engine._engine is not None
    evaluator = Failing(engine._engine.game)
    evaluator.most = most
    engine._engine.evaluator = evaluator
    said = talk("position startpos", "go nodes 400", engine=engine)
    assert said[-1].split()[1] in legal_moves("startpos")
    told = [line for line in said if line.startswith("info string")]
    assert told
    assert all("MemoryError" in line for line in told)


def test_the_command_is_an_engine() -> None:
    command = [sys.executable, "-m", "zerogames", "usi", "--evaluator", "random", "--threads", "1"]
    lines = "usi\nisready\nusinewgame\nposition startpos\ngo nodes 20\nquit\n"
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=120)
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert "usiok" in said
    assert "readyok" in said
    assert said[-1].split()[1] in legal_moves("startpos")


@pytest.mark.parametrize("end", ["stop", "quit", "go nodes 3"])
def test_bench_ends_when_it_is_told(end: str) -> None:
    began = time.monotonic()
    said = talk("isready", "bench 1000000", end)
    assert time.monotonic() - began < 10
    assert "info string bench was stopped" in said
    assert not any(line.startswith("bench ") for line in said)


def test_bench_that_is_not_stopped_tells_its_speed() -> None:
    assert talk("bench 20")[-1].startswith("bench 2")
