import json
import subprocess
import sys
from pathlib import Path

import chess
import numpy as np
import pytest
from nnue_positions import random_boards
from nnue_weights import random_network
from rich.console import Console
from test_training import material_records
from zerogames_chess.nnue.engine import load_engine, moves_to_mate
from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.human_moves import human_positions, match_share
from zerogames_chess.nnue.network import write_network
from zerogames_chess.nnue.puzzles import read_puzzles, solve
from zerogames_chess.nnue.records import RECORD, pack_board, write_records
from zerogames_chess.nnue.statistics import count_costs, count_dead
from zerogames_chess.nnue.study import run_study
from zerogames_chess.nnue.study_settings import NetPlan, StudySettings, Training

from zerogames.arena.event import Conditions, Event
from zerogames.arena.match_folder import MatchFolder
from zerogames.arena.runner import run_event
from zerogames.errors import UserError

HEADER = "PuzzleId,FEN,Moves,Rating,Themes\n"
FORK = "a,r3k3/8/8/3N4/8/8/8/4K2q w - - 0 1,e1e2 h1h2 e2e1 h2g1,1500,advantage short\n"
BACK_RANK = "6k1/5ppp/8/8/8/8/R7/1R4K1 b - - 0 1"


def records_of(boards: list[chess.Board]) -> np.ndarray:
    records = np.zeros(len(boards), RECORD)
    for record, board in zip(records, boards, strict=True):
        record["board"] = pack_board(board)
        record["black_to_move"] = not board.turn
    return records


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("net") / "random.nnue"
    write_network(path, random_network("piece", 32, 8, 8, seed=3))
    return path


def test_costs_equal_the_python_feature_set() -> None:
    boards = list(random_boards(12, seed=5))
    features = FeatureSet("piece+kp")
    active, added, removed, refreshes, moves = 0, 0, 0, 0, 0
    for board in boards:
        for pov in (chess.WHITE, chess.BLACK):
            active += len(set(features.active(board, pov)))
            for move in board.legal_moves:
                moves += 1
                if features.needs_refresh(board, move, pov):
                    refreshes += 1
                    continue
                new, old = features.changed(board, move, pov)
                added, removed = added + len(new), removed + len(old)
    costs = count_costs("piece+kp", records_of(boards))
    assert costs.size == features.size
    assert costs.active == active / (2 * len(boards))
    assert costs.added == added / (moves - refreshes)
    assert costs.removed == removed / (moves - refreshes)
    assert costs.refresh_share == refreshes / moves > 0


def test_dead_neurons_and_unseen_features_are_counted() -> None:
    network = random_network("piece", 16, 4, 0, seed=8)
    network.w1[:, :2] = 0
    network.b1[:2] = (-1, 127)
    boards = list(random_boards(60, seed=9))
    features = FeatureSet("piece")
    seen = {
        index for board in boards for pov in chess.COLORS for index in features.active(board, pov)
    }
    dead = count_dead(network, records_of(boards))
    assert dead.unseen_features == features.size - len(features.dead) - len(seen)
    assert dead.neurons_off >= 1
    assert dead.neurons_full >= 1


def test_puzzles_are_filtered_and_broken_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "puzzles.csv"
    easy = FORK.replace("1500", "900")
    mate = FORK.replace("advantage", "mateIn2")
    path.write_text(HEADER + FORK + easy + mate)
    assert len(read_puzzles(path)) == 1
    path.write_text(HEADER + FORK.replace("h1h2", "h1g3"))
    with pytest.raises(UserError, match="not a legal line"):
        read_puzzles(path)
    path.write_text(HEADER + FORK.replace("1500", "high"))
    with pytest.raises(UserError, match="line 2 is damaged"):
        read_puzzles(path)
    path.write_text("FEN,Moves\n")
    with pytest.raises(UserError, match="needs the columns"):
        read_puzzles(path)
    path.write_text(HEADER + easy)
    with pytest.raises(UserError, match="no puzzle rated"):
        read_puzzles(path)


def test_another_mate_in_one_solves_a_puzzle(tmp_path: Path, network: Path) -> None:
    path = tmp_path / "puzzles.csv"
    # Ra8 and Rb8 both mate; only one is in the file.
    engine = load_engine(network)
    path.write_text(HEADER + f"a,{BACK_RANK},g8h8 b1b8,1500,short\n")
    score = solve([engine], read_puzzles(path), nodes=2000)
    assert (score.asked, score.found) == (1, 1)
    assert score.buckets == {1400: (1, 1)}


def test_engines_share_the_puzzles(tmp_path: Path, network: Path) -> None:
    path = tmp_path / "puzzles.csv"
    ratings = (1100, 1500, 1550, 2100, 2900)
    lines = [FORK.replace("1500", str(rating)) for rating in ratings]
    path.write_text(HEADER + "".join(lines))
    puzzles = read_puzzles(path)
    alone = solve([load_engine(network)], puzzles, nodes=500)
    assert alone.asked == 2 * len(ratings)
    for number in (2, 3, 7):
        together = solve([load_engine(network) for _ in range(number)], puzzles, nodes=500)
        assert together == alone


def test_human_moves_are_compared(tmp_path: Path, network: Path) -> None:
    board = chess.Board()
    moves = []
    rng = np.random.default_rng(4)
    for _ in range(40):
        move = list(board.legal_moves)[rng.integers(board.legal_moves.count())]
        moves.append(board.san(move))
        board.push(move)
    pgn = tmp_path / "human.pgn"
    pgn.write_text('[Result "1-0"]\n\n' + " ".join(moves) + " 1-0\n")
    positions = human_positions(pgn, 10)
    assert len(positions) == 1
    fen, played = positions[0]
    assert chess.Move.from_uci(played) in chess.Board(fen).legal_moves
    assert match_share(load_engine(network), positions, nodes=50) in (0.0, 1.0)
    pgn.write_text('[Result "1-0"]\n\n1. e4 e5 1-0\n')
    with pytest.raises(UserError, match="no game of more"):
        human_positions(pgn, 10)


def test_network_plays_in_the_arena(tmp_path: Path, network: Path) -> None:
    conditions = Conditions(games=2, nodes=200, max_plies=60, out=str(tmp_path / "match"))
    event = Event([f"nnue:{network}", "random"], conditions)
    assert event.names == ["random", "random #2"]
    with MatchFolder(tmp_path / "match", event.identity(), event.game, "-") as folder:
        assert run_event(event, folder) == "finished"
        assert [game.fault for game in folder.games] == [None, None]
        searched = [text for game in folder.games for text in game.comments.values() if "/" in text]
        assert searched
        assert all(text.endswith("n") for text in searched)


@pytest.mark.parametrize(
    ("text", "message"),
    [("nnue:no.nnue", "there is no network"), ("nnue:no.nnue?hash=0", "hash=0 is not a size")],
)
def test_wrong_players_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Event([text, "random"], Conditions())


@pytest.mark.parametrize(("score", "mate"), [(0, None), (31_999, 1), (31_998, 1), (-31_998, -1)])
def test_mates_are_counted_in_own_moves(score: int, mate: int | None) -> None:
    assert moves_to_mate(score) == mate


@pytest.mark.parametrize(
    "text", ["piece", "piece 256", "piece 256-32-32-8", "pice 8-8", "piece 0-8"]
)
def test_nets_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        NetPlan.parse(text)


def test_study_goes_from_data_to_table_and_does_nothing_twice(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    records = material_records(600, seed=77)
    write_records(data / "training.zgd", records[:500], {"unit": "internal"})
    write_records(data / "validation.zgd", records[500:], {"unit": "internal"})
    puzzles = tmp_path / "puzzles.csv"
    puzzles.write_text(HEADER + FORK)
    settings = StudySettings(
        data=data,
        out=tmp_path / "study",
        nets=("piece 16-4-4", "h+v+toppp:64 16-4"),
        seeds=(0, 1),
        training=Training(epochs=1, batch=100, win_model="thesis", threads=1),
        puzzles=puzzles,
        puzzle_time_ms=1,
        move_time_ms=1,
        nodes=30,
        games=2,
        cost_positions=5,
        bench_depth=3,
    )
    console = Console(quiet=True)
    run_study(settings, console)
    table = (settings.out / "study.md").read_text()
    found = json.loads((settings.out / "study.json").read_text())
    assert [len(one) for one in found["measures"].values()] == [2, 2]
    assert found["elo"]["nodes"]["piece 16-4-4 s0"] == [0.0, 0.0]
    assert "| piece 16-4-4 |" in table
    assert "| h+v+toppp:64 16-4 |" in table
    assert "h+v+toppp:64 16-4 s0" in found["elo"]["time"]
    for picture in ("elo.png", "puzzles.png"):
        assert (settings.out / picture).read_bytes().startswith(b"\x89PNG")
    nets = sorted(settings.out.rglob("network.nnue"))
    times = [net.stat().st_mtime_ns for net in nets]
    run_study(settings, console)
    assert len(nets) == 4
    assert [net.stat().st_mtime_ns for net in nets] == times
    assert (settings.out / "study.md").read_text() == table


def test_study_without_data_says_what_to_do(tmp_path: Path) -> None:
    study = ["nnue", "study", "--preset", "nnue-study", "--data", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "zerogames", *study],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "zerogames nnue data" in done.stderr + done.stdout
