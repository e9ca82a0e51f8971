"""The native PGN parser, against python-chess; what it must survive; PGN as training data."""

import gzip
import io
import random
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zerogames_chess import _data, _native
from zerogames_chess.data.pgn import _EVENT, _PREAMBLE
from zerogames_chess.pgn import read_pgn

from zerogames.data.files import DataFile
from zerogames.data.sources import Source
from zerogames.data.stream import SampleStream, StreamOptions
from zerogames.data.text_blocks import cut_text
from zerogames.errors import UserError
from zerogames.registry import get_game

CHESS = get_game("chess")
RESULT_TEXT = {1.0: "1-0", -1.0: "0-1", 0.0: "1/2-1/2", None: "*"}

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


def read_with_python_chess(data: bytes) -> list[chess.pgn.Game]:
    stream = io.StringIO(data.decode("utf-8-sig", errors="replace"))
    games = []
    while (game := chess.pgn.read_game(stream)) is not None:
        games.append(game)
    return games


def compare(data: bytes) -> int:
    """Our reader and python-chess on the same text; returns the number of games."""
    ours = list(read_pgn(data))
    theirs = read_with_python_chess(data)
    assert len(ours) == len(theirs)
    for record, other in zip(ours, theirs, strict=True):
        assert not other.errors
        moves = [move.uci() for move in other.mainline_moves()]
        state = record.start_state(get_game(record.game))
        for action, move in zip(record.actions.tolist(), moves, strict=False):
            assert action == state.parse_uci(move)
            state = state.play(action)
        headers = dict(other.headers)
        if state.result is None:
            assert len(record.actions) == len(moves)
            assert RESULT_TEXT[record.result] == headers["Result"]
            assert record.reason == headers.get("Termination", "")
        else:
            assert (record.result, record.reason) == (state.result, state.end_reason)
        assert record.game == ("chess:variant=960" if other.board().chess960 else "chess")
        # python-chess adds the tags that every game should have.
        assert record.tags.items() <= headers.items()
        for ply, node in enumerate([other, *other.mainline()], start=-1):
            if ply < len(record.actions):
                assert record.comments.get(ply, "") == " ".join(node.comment.split())
    return len(ours)


def first_games(path: Path, count: int) -> bytes:
    parts = gzip.decompress(path.read_bytes()).split(b"\n[Event ")
    return b"\n[Event ".join(parts[:count])


CLEAN = [
    "1. e2e4 e7e5 2. g1f3 b8c6 1-0",
    "e4 e5 Nf3 1/2-1/2",
    "1. e4 {one} (1. d4 {not this} d5 (1... Nf6)) 1... c5 {two} {three} $14 *",
    '[Result "*"]\n\n1. e4 e5 1-0',
    '[White "A"]\n\n1. e4 e5 1-0',
    '[Result "1-0"]\n\n1. e4 e5 *',
    '[Result "1-0"]\n\n1. e4 e5',
    '[FEN "8/P3k3/8/8/8/8/8/4K3 w - - 0 1"]\n[SetUp "1"]\n\n1. a7a8q Kd7 *',
    '[FEN "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"]\n[SetUp "1"]\n\n1. e1g1 e8c8 *',
]


@pytest.mark.parametrize("text", CLEAN)
def test_forms_that_python_chess_knows_are_read_as_it_does(text: str) -> None:
    assert compare(text.encode()) == 1
    assert compare(f"{text}\n\n{text}\n\n\n{text}\n".encode()) == 3


ODD = {
    "a comment behind the result": ("1. e4 e5 1-0 {White wins}", 2, 1.0),
    "comments and the result once more": ("1. e4 e5 1/2-1/2 {Draw}\n{agreed} 1/2-1/2", 2, 0.0),
    "the result twice": ("1. e4 e5 0-1 0-1", 2, -1.0),
    "words behind the result": ("1. e4 e5 0-1 Black wins on time", 2, -1.0),
    "a line comment behind the result": ("1. e4 e5 1-0 ; by [adjudication]", 2, 1.0),
    "an open comment behind the result": ("1. e4 e5 1-0 {White wins", 2, 1.0),
    "a result at its move": ("1. e4 e5 2. Ba6*", 3, None),
    "half a point, short": ("1. e4 e5 1/2", 2, 0.0),
    "en passant, marked": ("1. e4 a6 2. e5 d5 3. exd6e.p. a5 1-0", 6, 1.0),
    "en passant, marked with a blank": ("1. e4 a6 2. e5 d5 3. exd6 e.p. a5 1-0", 6, 1.0),
    "en passant with check": ("1. e4 e6 2. e5 Ke7 3. h3 d5 4. exd6ep+ Ke8 1-0", 8, 1.0),
    "squares": ("1. e2e4 e7e5 2. g1f3 b8c6 3. f1b5 a7a6 4. e1g1+ 1-0", 7, 1.0),
    "squares and SAN": ("1. e2e4 e5 2. g1f3 Nc6 1-0", 4, 1.0),
    "a tag without its bracket": ('[White "A"\n[Black "B"]\n\n1. e4 1-0', 1, 1.0),
    "tags on a line": ('[White "A"] [Black "B"] [Result "0-1"]\n\n1. e4 *', 1, -1.0),
    "quotation marks without backslash": ('[Event "the "Open" of"]\n\n1. e4 1-0', 1, 1.0),
    "a path in a tag": ('[Event "C:\\games\\"]\n\n1. e4 1-0', 1, 1.0),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_forms_are_one_game_each(name: str) -> None:
    text, plies, result = ODD[name]
    for separator in ("\n\n", "\r\n\r\n"):
        again = f'[Event "next"]\n\n{text}' if not text.startswith("[") else text
        data = separator.join([again, again, again]).encode()
        games = list(read_pgn(data))
        assert [(len(game.actions), game.result) for game in games] == [(plies, result)] * 3


def test_tags_survive_missing_backslashes() -> None:
    [game] = read_pgn(b'[Event "the "Open" of C:\\x\\"] [A+B "1"]\n\n1. e4 1-0')
    assert game.tags == {"Event": 'the "Open" of C:\\x\\', "A+B": "1"}


def test_games_without_tags_follow_each_other() -> None:
    games = list(read_pgn(b"1. e4 e5 1-0 {one}\n\n1. d4 {two} d5 0-1\n1. c4 * 1. f4 1/2-1/2"))
    assert [len(game.actions) for game in games] == [2, 2, 1, 1]
    assert games[1].comments == {0: "two"}


@pytest.mark.parametrize("null", ["--", "Z0", "0000", "null"])
def test_a_game_in_which_a_side_passes_is_named(null: str) -> None:
    data = f'1. e4 {null} 2. d4 1-0\n\n[White "A"]\n\n1. e4 1-0'.encode()
    errors: list[UserError] = []
    [game] = read_pgn(data, on_broken=errors.append)
    assert len(game.actions) == 1
    assert f"move 1... '{null}' passes" in str(errors[0])


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


def test_files_of_zstandard_are_read_as_plain_ones(tmp_path: Path) -> None:
    data = b'[Event "First"]\n\n1. e4 e5 2. Nf3 Nc6 1-0\n\n' * 60_000
    half = len(data) // 2
    # Lichess writes many frames one after another.
    packed = pa.compress(data[:half], "zstd", asbytes=True) + pa.compress(
        data[half:], "zstd", asbytes=True
    )
    (tmp_path / "games.pgn.zst").write_bytes(packed)
    source = Source([tmp_path], CHESS)
    assert source.found == {"PGN": 1}
    assert sum(1 for _ in source.games()) == 60_000
    (tmp_path / "games.pgn.zst").write_bytes(packed[: len(packed) * 3 // 4])
    source = Source([tmp_path], CHESS)
    assert sum(1 for _ in source.games()) > 10_000
    [(_, reason)] = [named for named in source.problems.named if "damaged" in named[1]]
    assert "Truncated" in reason


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
