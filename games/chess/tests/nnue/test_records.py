from pathlib import Path

import chess
import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from nnue_positions import VARIED, random_boards
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.inference import record_bytes
from zerogames_chess.nnue.records import (
    HEADER_SIZE,
    RECORD,
    map_records,
    mirror_records,
    pack_board,
    pack_move,
    read_header,
    unpack_board,
    unpack_move,
    write_records,
)

from zerogames.errors import UserError


def record_of(board: chess.Board) -> np.ndarray:
    record = np.zeros(1, RECORD)
    record["board"] = pack_board(board)
    record["black_to_move"] = board.turn == chess.BLACK
    record["ply"] = board.ply()
    return record


def test_a_record_has_40_bytes() -> None:
    assert RECORD.itemsize == 40


@hypothesis.given(st.integers(0, 2**32))
@hypothesis.settings(max_examples=20)
def test_positions_come_back_whole(seed: int) -> None:
    boards = [chess.Board(fen) for fen in VARIED] + list(random_boards(30, seed))
    for board in boards:
        board.halfmove_clock = 0
        record = record_of(board)
        assert unpack_board(record[0]).fen() == board.fen()
        assert _native.pack_fen(board.fen()) == record.tobytes()
        # The native FEN names the square also when taking en passant would not be legal.
        (native,) = _native.unpack_fens(record_bytes(record))
        assert chess.Board(native).fen() == board.fen()


@hypothesis.given(st.integers(0, 2**32))
@hypothesis.settings(max_examples=20)
def test_mirrored_positions_and_moves_are_those_of_python_chess(seed: int) -> None:
    boards = [chess.Board(fen) for fen in VARIED] + list(random_boards(30, seed))
    records = np.concatenate([record_of(board) for board in boards])
    for record, board in zip(records, boards, strict=True):
        record["move"] = pack_move(next(iter(board.legal_moves), None))
    mirrored = mirror_records(records)
    assert mirror_records(mirrored).tobytes() == records.tobytes()
    for board, before, after in zip(boards, records, mirrored, strict=True):
        if board.clean_castling_rights():
            assert after.tobytes() == before.tobytes()
            continue
        right = board.transform(chess.flip_horizontal)
        assert unpack_board(after).board_fen() == right.board_fen()
        found, original = unpack_board(after), unpack_board(before)
        assert found.turn == board.turn
        assert (found.ep_square is None) == (original.ep_square is None)
        if (move := unpack_move(int(after["move"]))) is not None:
            assert move in found.legal_moves


@pytest.mark.parametrize("text", ["e2e4", "e7e8q", "a7b8n", "e1g1", "h7h8r", "h7h8b"])
def test_moves_come_back(text: str) -> None:
    move = chess.Move.from_uci(text)
    assert unpack_move(pack_move(move)) == move
    assert unpack_move(0) is None


@hypothesis.given(st.binary(min_size=40, max_size=40))
@hypothesis.settings(max_examples=300)
def test_damaged_records_are_refused_or_are_positions(data: bytes) -> None:
    record = np.frombuffer(data, np.uint8).reshape(1, 40)
    try:
        (fen,) = _native.unpack_fens(record)
    except UserError as error:
        if "damaged" not in str(error):
            raise
    else:
        assert chess.Board(fen)


def test_files_keep_records_and_header(tmp_path: Path) -> None:
    records = np.concatenate([record_of(board) for board in random_boards(50, 1)])
    write_records(tmp_path / "r", records, {"unit": "internal"})
    assert read_header(tmp_path / "r") == {"unit": "internal"}
    assert map_records(tmp_path / "r").tobytes() == records.tobytes()
    write_records(tmp_path / "empty", records[:0], {})
    assert len(map_records(tmp_path / "empty")) == 0


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r"
    write_records(path, np.zeros(3, RECORD), {})
    good = path.read_bytes()
    for data, message in [
        (good[:-1], "cut short"),
        (b"x" + good[1:], "not a record file"),
        (good[:100], "not a record file"),
        (good[:8] + b"{" + good[9:HEADER_SIZE].replace(b"}", b" "), "damaged"),
        (b"", "not a record file"),
    ]:
        path.write_bytes(data)
        with pytest.raises(UserError, match=message):
            map_records(path)
    with pytest.raises(UserError, match="no record file"):
        map_records(tmp_path / "absent")
