import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zerogames_chess import read_pgn, write_pgn

import zerogames
from zerogames.data import GameRecord

SCHOLAR = """[Event "Casual"]
[White "A"]
[Black "B"]
[Result "1-0"]

{ before } 1. e4 e5 2. Bc4 { good } {too} (2. Nf3 Nc6 { side } (2... d6)) 2... Nc6 $1
3. Qh5 Nf6?? 4. Qxf7# 1-0
"""
FISCHER = """[Variant "Chess960"]
[FEN "bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w ECec - 0 1"]
[SetUp "1"]
[Result "*"]

1. Ne3 Ne6 2. Nf3 Nf6 3. O-O O-O-O *
"""


def moves_of(record: GameRecord) -> list[str]:
    game = zerogames.get_game(record.game)
    state, moves = record.start_state(game), []
    for action in record.actions:
        moves.append(game.format_action(state, int(action)))
        state = state.play(int(action))
    return moves


def test_comments_are_kept_and_variations_passed_over() -> None:
    (record,) = read_pgn(SCHOLAR.encode())
    assert moves_of(record) == ["e2e4", "e7e5", "f1c4", "b8c6", "d1h5", "g8f6", "h5f7"]
    assert record.comments == {-1: "before", 2: "good too"}
    assert record.result == 1.0
    assert record.reason == "checkmate"
    assert record.tags["White"] == "A"
    assert record.game == "chess"
    assert record.start == ""


def test_chess960_games_have_their_start_and_castling() -> None:
    (record,) = read_pgn(FISCHER.encode())
    assert record.game == "chess:variant=960"
    assert record.start == "bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w KQkq - 0 1"
    assert moves_of(record)[-2:] == ["d1e1", "d8c8"]
    assert record.result is None
    (again,) = read_pgn(write_pgn(record).encode())
    assert again.start == record.start
    assert again.actions.tolist() == record.actions.tolist()


def test_a_broken_game_is_named_and_may_be_left_out() -> None:
    broken = '[White "Ann"]\n[Black "Bob"]\n\n1. e4 e5 2. Ke3 Nf6 1-0\n\n'
    data = (SCHOLAR + "\n" + broken + SCHOLAR).encode()
    games = read_pgn(data)
    next(games)
    with pytest.raises(zerogames.UserError, match=r"game 2 \(Ann - Bob\): .*Ke3"):
        next(games)
    errors: list[zerogames.UserError] = []
    assert len(list(read_pgn(data, on_broken=errors.append))) == 2
    assert len(errors) == 1


@pytest.mark.parametrize(
    "text",
    [
        '[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]\n[SetUp "1"]\n\n1. e4 *\n',
        '[FEN "nonsense"]\n[SetUp "1"]\n\n1. e4 *\n',
        '[Variant "Atomic"]\n\n1. e4 *\n',
        '[Variant "Nonsense"]\n\n1. e4 *\n',
        '[White "A"]\n\n1. e4 -- 2. d4 *\n',
    ],
)
def test_what_is_not_chess_is_refused(text: str) -> None:
    with pytest.raises(zerogames.UserError, match="PGN game 1"):
        list(read_pgn(text.encode()))


def test_a_game_that_outlives_the_rules_is_cut() -> None:
    shuffle = "Nf3 Nf6 Ng1 Ng8 " * 3
    (record,) = read_pgn(f'[Result "1-0"]\n\n{shuffle} e4 1-0\n'.encode())
    assert len(record.actions) == 8
    assert (record.result, record.reason) == (0.0, "threefold repetition")


def test_old_files_may_be_latin_1() -> None:
    (record,) = read_pgn('[White "Müller"]\n\n1. e4 *\n'.encode("latin-1"))
    assert record.tags["White"] == "Müller"
    (record,) = read_pgn(b"\xef\xbb\xbf" + '[White "Müller"]\n\n1. e4 *\n'.encode())
    assert record.tags["White"] == "Müller"


@given(st.binary(max_size=300))
def test_garbage_is_read_as_games_or_refused(data: bytes) -> None:
    for record in read_pgn(data, on_broken=lambda error: None):
        assert record.final_state(zerogames.get_game(record.game)).plies == len(record.actions)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.integers(0, 2**32), NAMES, NAMES, st.sampled_from(["chess", "chess:variant=960,start=5"]))
def test_what_is_written_reads_back(seed: int, name: str, comment: str, identity: str) -> None:
    game = zerogames.get_game(identity)
    rng = np.random.default_rng(seed)
    state, actions = game.initial_state(), []
    while state.result is None and len(actions) < 40:
        actions.append(int(rng.choice(state.legal_actions())))
        state = state.play(actions[-1])
    record = GameRecord(
        game=identity,
        actions=np.array(actions, np.int32),
        result=state.result if state.result is not None else -1.0,
        reason=state.end_reason,
        tags={"White": name},
        comments={0: comment},
    )
    (again,) = read_pgn(write_pgn(record).encode())
    assert np.array_equal(again.actions, record.actions)
    assert again.result == record.result
    assert str(again.start_state(game)) == str(game.initial_state())


def test_an_en_passant_square_that_nobody_can_use_is_kept() -> None:
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
    (record,) = read_pgn(f'[FEN "{fen}"]\n[SetUp "1"]\n\n1... e5 *\n'.encode())
    assert record.start == fen
    assert f'[FEN "{fen}"]' in write_pgn(record)


def test_tags_and_start_are_written() -> None:
    record = GameRecord(
        game="chess",
        start="4k3/8/8/8/8/8/8/4K2R w K - 0 1",
        actions=np.array([103], np.int32),
        result=None,
        tags={"Event": 'A "quoted"\nname', "Result": "1-0"},
        comments={0: "castled} early"},
    )
    text = write_pgn(record)
    assert '[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]' in text
    assert '[SetUp "1"]' in text
    assert "[Event \"A 'quoted' name\"]" in text
    assert "1. O-O" in text
    assert text.rstrip().endswith("*")
    (again,) = read_pgn(text.encode())
    assert again.comments == {0: "castled early"}
    with pytest.raises(zerogames.UserError, match="tag"):
        write_pgn(
            GameRecord(game="chess", actions=record.actions[:0], result=None, tags={"a b": ""})
        )


@pytest.mark.parametrize(
    "name", ["TCEC_Season_16_FRC_Superfinal.pgn.gz", "TCEC_Season_10_Superfinal.pgn.gz"]
)
def test_real_games_read_and_write_back(name: str, shared: Path) -> None:
    path = shared / "chess" / "tcec" / name
    text = gzip.decompress(path.read_bytes())[:300_000]
    text = text[: text.rindex(b"\n\n[Event ")]
    records = list(read_pgn(text))
    assert len(records) > 5
    for record in records:
        assert record.result is not None
        assert len(record.actions) > 20
        (again,) = read_pgn(write_pgn(record).encode())
        assert np.array_equal(again.actions, record.actions)
        assert again.tags == record.tags
        assert again.reason == record.reason
        assert again.comments == record.comments
