"""The native PGN parser, against python-chess; what it must survive; PGN as training data."""

import gzip
import random
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zerogames_chess import _data, _native
from zerogames_chess.data.pgn import _EVENT, _PREAMBLE, to_record
from zerogames_chess.pgn import read_pgn

from zerogames.data.files import DataFile
from zerogames.data.sources import Source
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.data.text_blocks import cut_text
from zerogames.registry import get_game

CHESS = get_game("chess")

SMALL = b"""%escape
[Event "First; a test"]
[White "A \\"quoted\\" name"]
[Black "M\xfcller"]
[Result "1-0"]

{before} 1. e4! $1 e5 {a comment (with [%eval 0.35] brackets)} 2. Nf3
(2. f4 exf4 (2... d5 {no)} 3. d4))
2... Nc6 ; to the end of the line 3. h4
3.Bb5 a6 4. O-O?! Nf6 5 Re1 d6!? 1-0

[Event "Second"]
[Result "1/2-1/2"]

1. d2-d4 d7d5 2. c2xd5 *

[Event "Third"]
[Result "0-1"]
[FEN "4k3/P7/8/8/8/8/7p/4K3 w - - 0 1"]
[SetUp "1"]

1. a8=N h1=Q+ 2. Kd2 Qd5+ 0-1

[Event "No result token"]
[Result "*"]

1. e4 c5

[Event "Last"]
[Result "1-0"]
[Variant "crazyhouse"]

1. e4 1-0
"""


def test_small_file() -> None:
    first, second, third, fourth, last = _data.read_pgn(SMALL, values=True)
    assert first.error == b""
    state, moves = CHESS.initial_state(), []
    for action in first.actions.tolist():
        moves.append(CHESS.format_action(state, action))
        state = state.play(action)
    assert " ".join(moves) == "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 e1g1 g8f6 f1e1 d7d6"
    assert first.tags["White"] == b'A "quoted" name'
    assert first.result == 1
    # White stands better after Black's move, so the mover has less than half.
    assert np.isnan(first.values[0])
    assert first.values[1] == pytest.approx(1 - 2 / (1 + np.exp(-0.368208 * 0.35)))
    assert b"2. 'c2xd5' is not legal" in second.error
    assert third.start == "4k3/P7/8/8/8/8/7p/4K3 w - - 0 1"
    assert [_native.action_names()[a] for a in third.actions][:2] == ["a7a8", "h7h8q"]
    assert fourth.result is None
    assert len(fourth.actions) == 2
    assert b"crazyhouse" in last.error


def test_values_of_engines() -> None:
    def value(comment: str) -> float:
        text = f"1. e4 {{{comment}}} 1-0".encode()
        return float(_data.read_pgn(text, values=True)[0].values[0])

    half_pawn = pytest.approx(2 / (1 + np.exp(-0.00368208 * 50)) - 1, abs=1e-6)
    assert value("d=28, pv=d4 d5, tb=0, R50=50, wv=0.50, ") == half_pawn
    assert value("[%eval 0.5] [%clk 0:03:00]") == half_pawn
    assert value("+0.50/12 1.3s") == half_pawn
    assert value("[%eval #-3]") == -1
    assert value("+M5/20 0.1s") == 1
    assert np.isnan(value("a good move"))
    assert np.isnan(value("book"))


@pytest.mark.parametrize(
    ("fen", "san", "uci"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O", "e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "0-0-0+", "e8c8"),
        ("4k3/8/8/8/8/8/8/R3K2R w - - 0 1", "O-O", None),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "exd6", "e5d6"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - - 0 1", "exd6", None),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "Rd1", "a1d1"),
        ("4k3/8/8/8/R7/8/8/R3K3 w - - 0 1", "R1a3", "a1a3"),
        ("4k3/8/8/8/R7/8/8/R3K3 w - - 0 1", "Ra3", None),
        ("4k3/8/8/8/R7/8/8/R3K3 w - - 0 1", "Ra1a3", "a1a3"),
        ("4r1k1/8/8/8/8/8/4N3/N3K3 w - - 0 1", "Nc2", "a1c2"),
        ("4r1k1/8/8/8/8/8/4N3/N3K3 w - - 0 1", "Nc3", None),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a8", None),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a8N", "a7a8n"),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a8=Q+!!", "a7a8q"),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "Ka8", None),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "", None),
    ],
)
def test_san_of_special_moves(fen: str, san: str, uci: str | None) -> None:
    state = _native.State.from_fen(fen)
    action = _data.parse_san(state, san)
    assert action == (-1 if uci is None else state.parse_uci(uci))


@given(st.integers(0, 2**32), st.booleans())
def test_san_of_every_legal_move_is_read_as_python_chess_writes_it(
    seed: int, chess960: bool
) -> None:
    rng = random.Random(seed)
    board = chess.Board.from_chess960_pos(rng.randrange(960)) if chess960 else chess.Board()
    board.chess960 = chess960
    for _ in range(rng.randrange(80)):
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(rng.choice(moves))
    state = _native.State.from_fen(board.fen(), chess960)
    if state.result is not None:
        return
    for move in board.legal_moves:
        wanted = state.parse_uci(board.uci(move))
        assert _data.parse_san(state, board.san(move)) == wanted
        if not board.is_castling(move):
            assert _data.parse_san(state, board.lan(move)) == wanted


def compare(data: bytes) -> int:
    """Both readers on the same text; returns the number of games."""
    ours = _data.read_pgn(data)
    errors: list[object] = []
    theirs = list(read_pgn(data, on_broken=errors.append))
    assert [game.error for game in ours if game.error] == []
    assert not errors
    assert len(ours) == len(theirs)
    for game, other in zip(ours, theirs, strict=True):
        record = to_record(game)
        assert record.actions.tolist() == other.actions.tolist()
        assert (record.game, record.start, record.result) == (
            other.game,
            other.start,
            other.result,
        )
        assert record.reason == other.reason
        # python-chess adds the tags that every game should have.
        assert record.tags.items() <= other.tags.items()
    return len(ours)


def first_games(path: Path, count: int) -> bytes:
    parts = gzip.decompress(path.read_bytes()).split(b"\n[Event ")
    return b"\n[Event ".join(parts[:count])


def test_real_games_are_read_as_python_chess_reads_them(shared: Path) -> None:
    for path in sorted((shared / "chess" / "tcec").glob("*.pgn.gz")):
        compare(first_games(path, 3))
    [path] = (shared / "chess" / "tcec-moves").glob("*.pgn.gz")
    games = gzip.decompress(path.read_bytes()).split(b"\n[Event ")
    sample = random.Random(1).sample(games[1:], 25)
    assert compare(b"".join(b"\n[Event " + game for game in sample)) == 25


@pytest.mark.slow
def test_all_commented_games_are_read_as_python_chess_reads_them(shared: Path) -> None:
    total = 0
    for path in sorted((shared / "chess" / "tcec").glob("*.pgn.gz")):
        total += compare(gzip.decompress(path.read_bytes()))
    assert total == 480
    [path] = (shared / "chess" / "tcec-moves").glob("*.pgn.gz")
    games = gzip.decompress(path.read_bytes()).split(b"\n[Event ")
    sample = random.Random(2).sample(games[1:], 600)
    assert compare(b"".join(b"\n[Event " + game for game in sample)) == 600


def test_every_real_game_is_read(shared: Path) -> None:
    source = Source([shared / "chess" / "tcec-moves", shared / "chess" / "tcec"], CHESS)
    count = plies = 0
    for game in source.games():
        count += 1
        plies += game.num_positions
    assert count == 19_538 + 480
    assert source.problems.count == 0
    assert plies > 2_700_000


def test_books_inside_zips_are_read(shared: Path) -> None:
    source = Source([shared / "chess" / "books" / "8moves_v3.pgn.zip"], CHESS)
    assert sum(1 for _ in source.games()) == 34_700
    assert source.problems.count == 0


def test_samples_are_the_moves_played(tmp_path: Path) -> None:
    path = tmp_path / "small.pgn"
    path.write_bytes(SMALL)
    source = Source([path], CHESS, engine_values=True)
    options = StreamOptions(shuffle_buffer=0, batch_size=64)
    with SampleStream(source, None, options) as stream:
        batch = next(stream).copy()
    first, _, third, _, _ = _data.read_pgn(SMALL)
    actions = [*first.actions.tolist(), *third.actions.tolist()]
    assert batch.policy.argmax(1).tolist() == actions
    assert (batch.policy.sum(1) == 1).all()
    assert batch.policy[~batch.legal].max() == 0
    assert batch.result[:2].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert batch.moves_left[:10].tolist() == list(range(10, 0, -1))
    assert batch.plies[:10].tolist() == list(range(10))
    q = batch.search[:, 0] - batch.search[:, 2]
    assert q[0] == 1  # no value: the result
    assert -0.1 < q[1] < 0
    names = [name.rpartition(".pgn ")[2] for name, _ in source.problems.named]
    assert names == ["game 2 (? - ?)", "game 4", "game 5 (? - ?)"]


def test_blocks_do_not_change_what_is_read(tmp_path: Path) -> None:
    data = SMALL * 50
    file = DataFile("x", len(data), lambda: (tmp_path / "x").open("rb"))
    (tmp_path / "x").write_bytes(data)
    wanted = [game.actions.tolist() for game in _data.read_pgn(data)]
    for size in (100, 1000, 10_000, 1_000_000):
        found, numbers = [], []
        for block in cut_text(file, _EVENT, preamble=_PREAMBLE, block_bytes=size):
            numbers.append(block.first_game)
            assert block.first_game == len(found)
            found += [game.actions.tolist() for game in _data.read_pgn(block.load())]
        assert found == wanted


@given(st.binary(max_size=200), st.integers(0, len(SMALL)), st.integers(0, 40))
def test_no_text_harms_the_parser(noise: bytes, position: int, cut: int) -> None:
    spoiled = SMALL[:position] + noise + SMALL[position + cut :]
    for game in _data.read_pgn(spoiled, values=True):
        assert game.error or game.result in (None, -1, 0, 1)
        assert len(game.values) == len(game.actions)
        _ = game.tags


def test_hostile_nesting_and_endless_games_cost_little() -> None:
    deep = b"1. e4 " + b"(" * 1_000_000 + b" e5 1-0"
    assert b"variation does not end" in _data.read_pgn(deep)[0].error
    endless = b'[FEN "k7/8/8/8/8/8/8/K7 w - - 0 1"]\n\n' + b"1. Kb1 Kb8 2. Ka1 Ka8 " * 20_000
    [game] = _data.read_pgn(endless)
    assert len(game.actions) == 0  # bare kings: drawn from the start
    tags = b'[A "b"]\n' * 2_000 + b"\n1. e4"
    assert b"1000 tags" in _data.read_pgn(tags)[0].error
