"""python-chess's client and our own arena drive the engines as users start them."""

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import chess
import chess.engine
import pytest
from zerogames_chess.uci.settings import UciSettings
from zerogames_chess.uci_command import open_engine

from zerogames.arena.event import Conditions, Event
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.runner import run_event
from zerogames.cli import main

PATIENCE_S = 60.0


def play(folder: Path, *players: str, **settings: object) -> list[StoredGame]:
    event = Event(players, Conditions(**settings))  # type: ignore[arg-type]
    with MatchFolder(folder, event.identity(), event.game, "-") as opened:
        assert run_event(event, opened) == "finished"
        return list(opened.games)


def test_python_chess_plays_analyses_and_ponders(engine_command: list[str]) -> None:
    rng = random.Random(1)
    with chess.engine.SimpleEngine.popen_uci(engine_command, timeout=PATIENCE_S) as client:
        assert client.id["name"].startswith("zerogames")
        client.configure({"Hash": 8, "MoveOverhead": 20})
        board = chess.Board()
        for _ in range(6):
            result = client.play(board, chess.engine.Limit(nodes=100), info=chess.engine.INFO_ALL)
            assert result.move in board.legal_moves
            assert result.info["nodes"] >= 1
            board.push(result.move)
            board.push(rng.choice(list(board.legal_moves)))
        began = time.monotonic()
        clock = chess.engine.Limit(
            white_clock=1.0, black_clock=1.0, white_inc=0.01, black_inc=0.01, remaining_moves=10
        )
        assert client.play(board, clock).move in board.legal_moves
        assert time.monotonic() - began < 10

        lines = client.analyse(board, chess.engine.Limit(nodes=300), multipv=3)
        assert [info["multipv"] for info in lines] == [1, 2, 3]
        assert len({info["pv"][0] for info in lines}) == 3
        restricted = client.analyse(
            board, chess.engine.Limit(nodes=100), root_moves=[lines[2]["pv"][0]]
        )
        assert restricted["pv"][0] == lines[2]["pv"][0]
        with client.analysis(board) as analysis:
            for info in analysis:
                if "score" in info:
                    break
        assert client.ping() is None

        guess = client.play(board, clock, ponder=True)
        assert guess.move is not None
        board.push(guess.move)
        if guess.ponder is not None:
            board.push(guess.ponder)  # A hit.
        else:
            board.push(rng.choice(list(board.legal_moves)))
        time.sleep(0.05)
        assert client.play(board, clock, ponder=True).move in board.legal_moves
        other = chess.Board()  # A miss.
        assert client.play(other, clock).move in other.legal_moves


def test_python_chess_plays_chess960(engine_command: list[str]) -> None:
    with chess.engine.SimpleEngine.popen_uci(engine_command, timeout=PATIENCE_S) as client:
        for number in (0, 518, 959):
            board = chess.Board.from_chess960_pos(number)
            rng = random.Random(number)
            for _ in range(8):
                result = client.play(board, chess.engine.Limit(nodes=20))
                assert result.move in board.legal_moves
                board.push(result.move)
                board.push(rng.choice(list(board.legal_moves)))


def test_clocks_are_kept_in_a_match(engine_command: list[str], tmp_path: Path) -> None:
    """A wide margin: the other tests keep the machine busy. The slow test has a narrow one."""
    games = play(
        tmp_path,
        f"uci:{' '.join(engine_command)}",
        "random",
        games=2,
        tc="1+0.01",
        margin=3.0,
        max_plies=60,
    )
    assert [game.fault_detail for game in games] == [None, None]


@pytest.mark.slow
def test_no_game_of_many_is_lost_on_time(small_net: Path, tmp_path: Path) -> None:
    command = f"uci:{sys.executable} -m zerogames uci --net {small_net} --threads 1"
    games = play(tmp_path, f"A={command}", f"B={command}", games=20, tc="1+0.01", margin=0.05)
    assert [game.fault_detail for game in games] == [None] * 20


def test_the_engine_starts_without_torch(small_net: Path) -> None:
    """Once the net's ONNX form is cached; torch alone would take seconds."""
    code = (
        "import sys\n"
        "from zerogames.cli import main\n"
        f"main(['uci', '--net', {str(small_net)!r}, '--threads', '1'])\n"
        "print('torch' in sys.modules, 'onnx' in sys.modules, file=sys.stderr)\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input="uci\nisready\ngo nodes 5\n",
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        assert "bestmove" in done.stdout
    assert done.stderr.strip() == "False False"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--net", "/nowhere/net.safetensors"], "there is no net file"),
        (["--nnue", "/nowhere/net.nnue"], "/nowhere/net.nnue"),
        (["--net", "a", "--nnue", "b"], "not both"),
        (["--evaluator", "random", "--nodes", "0"], "nodes: Input should be greater"),
        (["--evaluator", "random", "--threads", "-3"], "threads: Input should be greater"),
    ],
)
def test_wrong_arguments_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["uci", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1


def test_without_a_net_the_newest_run_plays(
    small_net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "runs" / "mine"
    run.mkdir(parents=True)
    shutil.copy(small_net, run / "net.safetensors")
    engine = open_engine(UciSettings())
    weights = next(option for option in engine.options if option.name == "WeightsFile")
    assert Path(str(weights.default)) == Path("runs/mine/net.safetensors")
    engine.get_ready()
