import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest
from zerogames_chess.nnue.data import DataOptions, choose_plies, data, disturb, is_validation
from zerogames_chess.nnue.games import read_games
from zerogames_chess.nnue.labels import (
    Labeller,
    internal_per_centipawn,
    is_quiet,
    wins_a_piece,
)
from zerogames_chess.nnue.records import map_records, read_header, unpack_board, unpack_move

from zerogames.errors import UserError

STOCKFISH = Path("/usr/games/stockfish")

ENGINE = '''#!{python}
"""A small UCI engine that counts material; it dies at the searches listed in a file."""
import os, sys
import chess
board = chess.Board()
values = {{1: 100, 2: 300, 3: 300, 4: 500, 5: 900, 6: 0}}
for line in sys.stdin:
    words = line.split()
    if words == ["uci"]:
        print("id name counter 1.0\\nuciok", flush=True)
    elif words == ["isready"]:
        print("readyok", flush=True)
    elif words[:2] == ["position", "fen"]:
        board = chess.Board(" ".join(words[2:]))
    elif words[:1] == ["go"]:
        folder = {folder!r}
        number = len(os.listdir(folder))
        open(os.path.join(folder, str(number)), "w").close()
        if number in {deaths!r}:
            sys.exit(1)
        score = sum(values[p.piece_type] * (1 if p.color == board.turn else -1)
                    for p in board.piece_map().values())
        move = next(iter(board.legal_moves)).uci()
        print(f"info depth 1 score cp {{score}} pv {{move}}\\nbestmove {{move}}", flush=True)
    elif words == ["quit"]:
        break
'''


def make_engine(folder: Path, deaths: set[int]) -> Path:
    counts = folder / f"searches-{len(deaths)}"
    counts.mkdir()
    path = folder / f"engine-{len(deaths)}"
    path.write_text(ENGINE.format(python=sys.executable, folder=str(counts), deaths=deaths))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture(scope="module")
def pgn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty random games; two are alike, one is too short, one has no result."""
    import random

    generator = random.Random(3)
    path = tmp_path_factory.mktemp("pgn") / "games.pgn"
    with path.open("w") as file:
        for number in range(30):
            game = chess.pgn.Game()
            game.headers["Round"] = str(number)
            node: chess.pgn.GameNode = game
            board = chess.Board()
            while not board.is_game_over() and board.ply() < (10 if number == 1 else 60):
                board.push(generator.choice(list(board.legal_moves)))
                node = node.add_variation(board.peek())
            game.headers["Result"] = "*" if number == 2 else ("1-0", "0-1", "1/2-1/2")[number % 3]
            print(game, end="\n\n", file=file)
            if number == 0:
                print(game, end="\n\n", file=file)
    return path


def options(out: Path, pgn: Path, engine: Path, **others: object) -> DataOptions:
    settings = {"units_per_centipawn": 2.0, "samples_per_game": 4, "chunk": 10, "depth": 1}
    return DataOptions(out=out, pgn=pgn, engine=engine, **(settings | others))


def records_of(out: Path) -> tuple[bytes, bytes]:
    return tuple(map_records(out / f"{part}.zgd").tobytes() for part in ("training", "validation"))


def test_games_without_result_are_passed_over(pgn: Path) -> None:
    assert len(list(read_games(pgn))) == 30


def test_plies_are_chosen_by_the_game_alone(pgn: Path, tmp_path: Path) -> None:
    settings = options(tmp_path, pgn, STOCKFISH)
    games = list(read_games(pgn))
    chosen = [choose_plies(game, settings) for game in games]
    assert chosen == [choose_plies(game, settings) for game in games]
    assert chosen[2] == []  # The short one.
    for game, plies in zip(games, chosen, strict=True):
        assert len(set(plies)) == len(plies) <= 4
        assert all(20 <= ply <= len(game.moves) for ply in plies)


def test_an_engine_that_dies_loses_nothing(pgn: Path, tmp_path: Path) -> None:
    steady, dying = make_engine(tmp_path, set()), make_engine(tmp_path, {0, 7, 30})
    data(options(tmp_path / "steady", pgn, steady, validation=0.3, samples_per_game=20))
    data(options(tmp_path / "dying", pgn, dying, validation=0.3, samples_per_game=20))
    assert len(os.listdir(tmp_path / "searches-3")) > 30
    assert records_of(tmp_path / "steady") == records_of(tmp_path / "dying")
    assert len(map_records(tmp_path / "steady" / "training.zgd")) > 20


def test_a_stopped_run_is_resumed_without_labelling_again(pgn: Path, tmp_path: Path) -> None:
    engine = make_engine(tmp_path, set())
    data(options(tmp_path / "whole", pgn, engine))
    searches = len(os.listdir(tmp_path / "searches-0"))
    data(options(tmp_path / "part", pgn, engine, games=12))  # Ends inside the second chunk.
    data(options(tmp_path / "part", pgn, engine))
    assert records_of(tmp_path / "whole") == records_of(tmp_path / "part")
    again = len(os.listdir(tmp_path / "searches-0")) - searches
    assert again < searches + 10 * 4
    with pytest.raises(UserError, match=r"other settings \(depth\)"):
        data(options(tmp_path / "part", pgn, engine, depth=2))


@pytest.mark.skipif(
    not Path("/proc/self/task").is_dir()
    or not Path(f"/proc/self/task/{os.getpid()}/children").exists(),
    reason="no list of child processes in /proc",
)
def test_no_process_outlives_a_killed_run(pgn: Path, tmp_path: Path) -> None:
    engine, out = make_engine(tmp_path, set()), tmp_path / "out"
    command = [sys.executable, "-m", "zerogames", "nnue", "data", str(out), "--pgn", str(pgn)]
    command += ["--engine", str(engine), "--units-per-centipawn", "2", "--chunk", "1"]
    run = subprocess.Popen([*command, "--processes", "2", "--samples-per-game", "40"])
    wait_until(lambda: any((out / "chunks").glob("*.zgd")) if out.is_dir() else False)
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    assert len(children) >= 2
    run.kill()
    run.wait()
    wait_until(lambda: not any(is_running(pid) for pid in children))


def wait_until(happens: Callable[[], bool]) -> None:
    for _ in range(1200):
        if happens():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_positions_are_distinct_and_no_game_is_in_both_parts(pgn: Path, tmp_path: Path) -> None:
    engine = make_engine(tmp_path, set())
    settings = options(tmp_path / "out", pgn, engine, validation=0.4, samples_per_game=30)
    data(settings)
    training, validation = (
        map_records(tmp_path / "out" / f"{p}.zgd") for p in ("training", "validation")
    )
    keys = [
        record["board"].tobytes() + bytes([record["black_to_move"]])
        for record in [*training, *validation]
    ]
    assert len(set(keys)) == len(keys)
    boards = {unpack_board(record).board_fen() for record in validation}
    for game in read_games(pgn):
        late = {board.board_fen() for board in game.positions(range(40, 61))}
        if not is_validation(game.identity, settings):
            assert not late & boards


def test_scores_are_converted_and_results_are_the_movers(pgn: Path, tmp_path: Path) -> None:
    engine = make_engine(tmp_path, set())
    data(options(tmp_path / "out", pgn, engine, quiet=False, units_per_centipawn=3.61))
    path = tmp_path / "out" / "training.zgd"
    assert read_header(path)["unit"] == "internal"
    values = {1: 100, 2: 300, 3: 300, 4: 500, 5: 900, 6: 0}
    results = {
        board.board_fen(): game.result
        for game in read_games(pgn)
        for board in game.positions(range(20, 61))
    }
    for record in map_records(path):
        board = unpack_board(record)
        sign = 1 if board.turn == chess.WHITE else -1
        material = sum(
            values[p.piece_type] * (1 if p.color == board.turn else -1)
            for p in board.piece_map().values()
        )
        assert record["score"] == round(material * 3.61)
        assert record["result"] == sign * results[board.board_fen()]
        assert unpack_move(int(record["move"])) in board.legal_moves


def test_the_units_trap() -> None:
    assert internal_per_centipawn("Stockfish 15.1 by the Stockfish developers") == 3.61
    assert internal_per_centipawn("Stockfish 14.1") == 2.08
    assert internal_per_centipawn("Stockfish dev-20250101") is None
    assert internal_per_centipawn("Other 15.1") is None


def test_an_unknown_engine_must_name_its_unit(pgn: Path, tmp_path: Path) -> None:
    engine = make_engine(tmp_path, set())
    with pytest.raises(UserError, match="units-per-centipawn"):
        data(options(tmp_path / "out", pgn, engine, units_per_centipawn=0.0))
    with pytest.raises(UserError, match="does not start"):
        data(options(tmp_path / "out", pgn, tmp_path / "absent"))


@pytest.mark.skipif(not STOCKFISH.exists(), reason="no /usr/games/stockfish")
def test_stockfish_labels_are_the_side_to_moves_and_quiet_is_quiet() -> None:
    with Labeller(STOCKFISH, 6, clear_hash=True).open() as labeller:
        up = labeller.label(chess.Board("4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1"))
        down = labeller.label(chess.Board("4k3/8/8/8/8/8/4Q3/4K3 b - - 0 1"))
        assert up.score > 300 > -300 > down.score
        mate = labeller.label(chess.Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"))
        assert mate.is_mate
        board = chess.Board("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1")
        taking = labeller.label(board)
        assert board.is_capture(taking.move)
        assert not is_quiet(board, taking)
        assert is_quiet(chess.Board(), labeller.label(chess.Board()))


@pytest.mark.skipif(not STOCKFISH.exists(), reason="no /usr/games/stockfish")
def test_static_labels_are_stockfishs_own_and_do_not_depend_on_the_search() -> None:
    boards = [
        chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"),
        chess.Board("5k2/8/8/8/8/8/4Q3/4K2R b - - 0 1"),
        chess.Board("r4rk1/ppp2ppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQ - 0 1"),
    ]
    scores = []
    for depth in (1, 7):
        with Labeller(STOCKFISH, depth, static=True).open() as labeller:
            scores.append([labeller.label(board).score for board in boards])
    assert scores[0] == scores[1]
    assert abs(scores[0][0]) < 150
    assert scores[0][2] < -500  # Black to move, and far behind.
    printed = subprocess.run(
        [STOCKFISH], input=f"position fen {boards[0].fen()}\neval\n", capture_output=True, text=True
    ).stdout
    final = next(line for line in printed.splitlines() if line.startswith("Final evaluation"))
    assert scores[0][0] == round(100 * float(final.split()[2]))


def test_static_labels_need_stockfish(pgn: Path, tmp_path: Path) -> None:
    engine = make_engine(tmp_path, set())
    with pytest.raises(UserError, match="needs Stockfish's `eval`"):
        data(options(tmp_path / "out", pgn, engine, static=True))


@pytest.mark.parametrize(
    ("fen", "wins"),
    [
        ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", True),  # pawn takes queen
        ("4k3/8/4p3/3q4/4P3/8/8/4K3 w - - 0 1", True),  # also a defended one
        ("4k3/8/8/3n4/8/8/3R4/4K3 w - - 0 1", True),  # undefended
        ("4k3/8/4p3/3n4/8/8/3R4/4K3 w - - 0 1", False),  # a rook for a knight
        ("4k3/8/4p3/3r4/8/8/3R4/4K3 w - - 0 1", False),  # an even exchange
        ("4k3/8/4p3/3n4/8/8/3R4/4K3 b - - 0 1", False),  # nothing to take
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", False),  # en passant
        ("4k3/8/8/8/8/4b3/3Q4/4K3 w - - 0 1", True),
        ("4r1k1/8/8/8/8/8/4P2n/4KR2 w - - 0 1", False),
    ],
)
def test_a_piece_that_can_plainly_be_won(fen: str, wins: bool) -> None:
    board = chess.Board(fen)
    before = board.fen()
    assert wins_a_piece(board) is wins
    assert wins_a_piece(board.mirror()) is wins
    assert board.fen() == before


def test_no_label_is_paid_for_positions_that_are_plainly_not_quiet(
    pgn: Path, tmp_path: Path
) -> None:
    engine = make_engine(tmp_path, set())
    settings = options(tmp_path / "out", pgn, engine, samples_per_game=30)
    data(settings)
    asked = len(os.listdir(tmp_path / "searches-0"))
    boards = [
        board
        for game in read_games(pgn)
        for board in game.positions(choose_plies(game, settings))
        if not board.is_game_over()
    ]
    quiet = [board for board in boards if not board.is_check() and not wins_a_piece(board)]
    assert 0 < len(quiet) < len(boards)
    assert asked == len(quiet)
    dropped = read_header(tmp_path / "out" / "training.zgd")["dropped"]
    assert dropped["in check"] + dropped["wins a piece"] == len(boards) - len(quiet)


def test_scores_fit_the_record(pgn: Path, tmp_path: Path) -> None:
    engine = make_engine(tmp_path, set())
    data(options(tmp_path / "out", pgn, engine, units_per_centipawn=20.0, quiet=False))
    scores = map_records(tmp_path / "out" / "training.zgd")["score"]
    assert np.abs(scores.astype(int)).max() < 10_000


def test_random_moves_leave_the_games_and_are_reproducible(pgn: Path, tmp_path: Path) -> None:
    settings = options(tmp_path, pgn, STOCKFISH, random_moves=3)
    away = 0
    for game in read_games(pgn):
        plies = choose_plies(game, settings)
        played = game.positions(plies)
        first, second = ([disturb(b.copy(), game, settings) for b in played] for _ in range(2))
        assert [board.fen() for board in first] == [board.fen() for board in second]
        for ply, board in zip(plies, first, strict=True):
            assert board.is_valid()
            assert 0 <= board.ply() - ply <= 3
            away += board.ply() > ply
    assert away > 40


def test_the_engines_own_play_is_labelled_too_and_survives_its_deaths(
    pgn: Path, tmp_path: Path
) -> None:
    steady, frail = make_engine(tmp_path, set()), make_engine(tmp_path, {3, 50, 51})
    for name, engine in (("steady", steady), ("frail", frail)):
        data(options(tmp_path / name, pgn, engine, follow=5, quiet=False, samples_per_game=2))
    records = map_records(tmp_path / "steady" / "training.zgd")
    # From the last of a line to the first: each follows on the one before by the engine's move.
    followed = 0
    for before, after in pairwise(records):
        board, move = unpack_board(before), unpack_move(int(before["move"]))
        assert move is not None
        board.push(move)
        followed += board.board_fen() == unpack_board(after).board_fen()
    assert followed > 0.75 * len(records)
    # A position that killed the engine twice is left out, and with it the rest of its line.
    lost = len(records) - len(map_records(tmp_path / "frail" / "training.zgd"))
    assert 0 <= lost <= 6
