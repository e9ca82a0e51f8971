import random
import stat
import sys
from itertools import pairwise
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest
from zerogames_chess.refute import RefuteOptions, Spoilt, main, open_engine, spoilt_positions

from zerogames.data.record import JUDGED, SEARCH_KINDS, GameRecord
from zerogames.data.sample import SampleBatch, unpack
from zerogames.data.shard import read_shard
from zerogames.data.sources import Source
from zerogames.data.split import is_validation
from zerogames.errors import UserError
from zerogames.game import play_actions
from zerogames.registry import get_game

STOCKFISH = Path("/usr/games/stockfish")
CHESS = get_game("chess")
LEARNT = SEARCH_KINDS.index("none")

ENGINE = '''#!{python}
"""A small UCI engine: it plays the last legal move by name, and dies at chosen positions."""
import os, sys
import chess
board = chess.Board()
for line in sys.stdin:
    words = line.split()
    if words == ["uci"]:
        print("id name last 1.0")
        if {tells_chances}:
            print("option name UCI_ShowWDL type check default false")
        print("uciok", flush=True)
    elif words == ["isready"]:
        print("readyok", flush=True)
    elif words[:2] == ["position", "fen"]:
        board = chess.Board(" ".join(words[2:]))
    elif words[:1] == ["go"]:
        key = str(hash(tuple(map(ord, board.fen()))) % 1000)
        seen = os.path.join({folder!r}, key)
        if int(key) % 1000 < {deadly} and (not os.path.exists(seen) or {always}):
            open(seen, "w").close()
            sys.exit(1)
        moves = sorted(move.uci() for move in board.legal_moves)
        move = moves[-1]
        wdl = "700 200 100" if board.turn else "100 200 700"
        print(f"info depth 1 score cp 1 wdl {{wdl}} pv {{move}}\\nbestmove {{move}}", flush=True)
    elif words == ["quit"]:
        break
'''


def make_engine(
    folder: Path, *, tells_chances: bool = True, deadly: int = 0, always: bool = False
) -> Path:
    deaths = folder / "deaths"
    deaths.mkdir(parents=True)
    path = folder / "engine"
    path.write_text(
        ENGINE.format(
            python=sys.executable,
            folder=str(deaths),
            tells_chances=tells_chances,
            deadly=deadly,
            always=always,
        )
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture(scope="module")
def pgn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty random games, every fourth from a position with Black to move."""
    generator = random.Random(5)
    path = tmp_path_factory.mktemp("pgn") / "games.pgn"
    with path.open("w") as file:
        for number in range(20):
            board = chess.Board()
            if number % 4 == 0:
                board.push_san("e4")
                board = chess.Board(board.fen())
            while not board.is_game_over() and board.ply() < 40:
                board.push(generator.choice(list(board.legal_moves)))
            game = chess.pgn.Game.from_board(board)
            game.headers["Result"] = "1-0"
            print(game, end="\n\n", file=file)
    return path


def refute(out: Path, pgn: Path, engine: Path, *more: str) -> list[GameRecord]:
    arguments = [str(out), "--data", str(pgn), "--engine", str(engine), "--chunk", "4"]
    assert main([*arguments, "--games", "20", "--plies", "6", "--validation", "0.3", *more]) == 0
    return [record for path in sorted(out.glob("*.parquet")) for record in read_shard(path)]


def num_learnt(record: GameRecord) -> int:
    assert record.search is not None
    return int((record.search.kinds == LEARNT).sum())


def same(one: list[GameRecord], other: list[GameRecord]) -> bool:
    return [(r.start, r.actions.tolist()) for r in one] == [
        (r.start, r.actions.tolist()) for r in other
    ]


def test_only_the_engines_moves_are_learnt(pgn: Path, tmp_path: Path) -> None:
    records = refute(tmp_path / "out", pgn, make_engine(tmp_path / "engine"))
    games = [game.record() for game in Source([pgn], CHESS).games()]
    played = {(game.start, tuple(game.actions.tolist())) for game in games}
    assert len(records) > 30
    assert {record.start != "" for record in records} == {True, False}
    for record in records:
        assert record.search is not None
        length = num_learnt(record)
        assert 1 <= length <= 6
        before = len(record.actions) - length
        assert (record.search.kinds[before:] == LEARNT).all()
        # Its own moves, then one to three that nobody meant.
        moves = tuple(record.actions.tolist())
        common = max(
            next((i for i, (a, b) in enumerate(zip(moves, own, strict=False)) if a != b), len(own))
            for start, own in played
            if start == record.start
        )
        assert common >= before - 3
        for ply in range(before, len(moves)):
            state = play_actions(record.start_state(CHESS), list(moves[:ply]))
            names = [CHESS.format_action(state, int(a)) for a in state.legal_actions()]
            assert CHESS.format_action(state, moves[ply]) == max(names)


def test_a_line_has_the_value_of_its_end(pgn: Path, tmp_path: Path) -> None:
    records = refute(tmp_path / "out", pgn, make_engine(tmp_path / "engine"))
    judged = [record for record in records if record.reason == JUDGED]
    assert judged
    for record in judged:
        assert record.search is not None
        q, d = record.search.values["best_q"], record.search.values["best_d"]
        before = len(record.actions) - num_learnt(record)
        assert np.isnan(q[:before]).all()
        assert np.isnan(d[:before]).all()
        first = play_actions(record.start_state(CHESS), record.actions[:before].tolist()).to_play
        assert q[before] == pytest.approx(0.6 if first == 0 else -0.6)
        assert all(a == -b for a, b in pairwise(q[before:].tolist()))
        assert d[before:] == pytest.approx(0.2)
        assert record.result == 1


def test_training_reads_the_lines(pgn: Path, tmp_path: Path) -> None:
    records = refute(tmp_path / "out", pgn, make_engine(tmp_path / "engine"))
    source = Source([tmp_path / "out"], CHESS)
    found = list(source.games())
    assert [game.num_positions for game in found] == [num_learnt(record) for record in records]
    batch = SampleBatch.empty(8, source.shape, CHESS.spec.action_size)
    for game, record in zip(found, records, strict=True):
        assert record.search is not None
        count = game.num_positions
        samples = unpack(game.samples(np.arange(count, dtype=np.int32)), batch)
        q = samples.search[:count, 0] - samples.search[:count, 2]
        assert q == pytest.approx(record.search.values["best_q"][-count:])
        assert samples.policy[:count].argmax(axis=1).tolist() == record.actions[-count:].tolist()
        # Where a line was broken off the end of the game is not known.
        assert record.reason == JUDGED
        assert samples.moves_left[:count].tolist() == [-1] * count
    assert source.problems.count == 0


def test_games_kept_for_validation_are_left_alone(pgn: Path, tmp_path: Path) -> None:
    records = refute(tmp_path / "out", pgn, make_engine(tmp_path / "engine"))
    games = list(Source([pgn], CHESS).games())
    kept = [game.record() for game in games if not is_validation(game.key, 0.3)]
    assert 0 < len(kept) < len(games)
    options = RefuteOptions(out=tmp_path)
    starts = [start for game in kept for start in spoilt_positions(game, options)]
    asked = [start.actions for start in starts if start.state.result is None]
    assert [
        record.actions[: len(record.actions) - num_learnt(record)].tolist() for record in records
    ] == asked


def test_a_stopped_run_goes_on_to_the_same_lines(pgn: Path, tmp_path: Path) -> None:
    engine = make_engine(tmp_path / "engine")
    whole = refute(tmp_path / "whole", pgn, engine)
    part = refute(tmp_path / "part", pgn, engine, "--games", "5")
    assert len(part) < len(whole)
    first = tmp_path / "part" / "000000.parquet"
    before = first.stat().st_mtime_ns
    assert same(refute(tmp_path / "part", pgn, engine, "--processes", "2"), whole)
    assert first.stat().st_mtime_ns == before
    with pytest.raises(UserError, match=r"other settings \(depth\)"):
        refute(tmp_path / "part", pgn, engine, "--depth", "2")
    # Other games under the same name would shift the shards.
    changed = tmp_path / "changed.pgn"
    changed.write_text(pgn.read_text())
    refute(tmp_path / "other", changed, engine)
    changed.write_text(2 * pgn.read_text())
    with pytest.raises(UserError, match=r"other settings \(files\)"):
        refute(tmp_path / "other", changed, engine)


def test_an_engine_that_dies_loses_nothing(
    pgn: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = refute(tmp_path / "whole", pgn, make_engine(tmp_path / "steady"))
    assert "started again" not in capfd.readouterr().err
    dying = make_engine(tmp_path / "dying", deadly=20)
    assert same(refute(tmp_path / "out", pgn, dying), whole)
    assert "started again" in capfd.readouterr().err
    deadly = make_engine(tmp_path / "deadly", deadly=20, always=True)
    fewer = refute(tmp_path / "fewer", pgn, deadly)
    assert 0 < len(fewer) < len(whole)
    assert "engine died" in capfd.readouterr().err
    with pytest.raises(UserError, match="dies again and again"):
        refute(tmp_path / "none", pgn, make_engine(tmp_path / "dead", deadly=1000, always=True))


def test_errors_say_what_is_wrong(pgn: Path, tmp_path: Path) -> None:
    silent = make_engine(tmp_path / "silent", tells_chances=False)
    with pytest.raises(UserError, match=r"does not tell its chances \(UCI_ShowWDL\)"):
        refute(tmp_path / "out", pgn, silent)
    with pytest.raises(UserError, match="does not start as a UCI engine"):
        refute(tmp_path / "out", pgn, tmp_path / "nothing")
    with pytest.raises(UserError, match="--random-moves must be at least 1"):
        refute(tmp_path / "out", pgn, silent, "--random-moves", "0")
    with pytest.raises(UserError, match="no games: name files or folders with --data"):
        main([str(tmp_path / "out")])
    with pytest.raises(UserError, match="whose games are read; name another"):
        refute(pgn.parent / "out", pgn.parent, silent)
    assert not (tmp_path / "out").exists()
    engine = make_engine(tmp_path / "engine")
    with pytest.raises(UserError, match=r"no line was made .* a lower --validation"):
        refute(tmp_path / "out", pgn, engine, "--validation", "0.999999")


@pytest.mark.skipif(not STOCKFISH.is_file(), reason="no /usr/games/stockfish")
def test_stockfish_takes_what_hangs(tmp_path: Path) -> None:
    # Black to move: a rook takes the queen, after which Black has a rook for nothing.
    start = "3rk3/8/8/8/3Q4/8/PPP5/1K6 b - - 0 1"
    with open_engine(RefuteOptions(out=tmp_path)) as engine:
        record = engine.refute(Spoilt(start, [], CHESS.parse_state(start)))
    assert record.search is not None
    assert CHESS.format_action(CHESS.parse_state(start), int(record.actions[0])) == "d8d4"
    assert record.result == -1
    assert record.search.values["best_q"][0] > 0.8
    assert record.search.values["best_q"][1] < -0.8


@pytest.mark.skipif(not STOCKFISH.is_file(), reason="no /usr/games/stockfish")
def test_a_line_that_mates_has_the_games_result(tmp_path: Path) -> None:
    start = "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1"
    with open_engine(RefuteOptions(out=tmp_path)) as engine:
        record = engine.refute(Spoilt(start, [], CHESS.parse_state(start)))
    assert record.search is not None
    assert (len(record.actions), record.result, record.reason) == (1, 1, "checkmate")
    assert (record.search.values["best_q"][0], record.search.values["best_d"][0]) == (1, 0)
