"""Labelled positions in 40 bytes each, and files of them that can be memory-mapped."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import chess
import numpy as np
from numpy.typing import NDArray

from zerogames.atomic import write_atomically
from zerogames.errors import UserError

RECORD = np.dtype(
    [
        ("board", "u1", 32),
        ("black_to_move", "u1"),
        ("result", "i1"),
        ("score", "<i2"),
        ("ply", "<u2"),
        ("move", "<u2"),
    ]
)
"""`board`: four bits a square, a1 in the low half of the first byte: 0 empty, 1 + role * 2 + black,
13 a pawn that may be taken en passant, 14 and 15 a white and a black rook that may castle.
`result` (1, 0, -1) and `score` are the side to move's; `move` is from + 64 to + 4096 promotion."""

HEADER_SIZE = 4096
"""Records start here, so that maps are aligned; the header is JSON text padded with spaces."""
_MAGIC = b"ZGND0001"
_EN_PASSANT_PAWN, _CASTLING_ROOK = 13, 14
_PROMOTIONS = (None, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN)


def pack_board(board: chess.Board) -> NDArray[np.uint8]:
    """The 32 bytes of a position's pieces, castling rights and en passant."""
    codes = np.zeros(64, np.uint8)
    for square, piece in board.piece_map().items():
        codes[square] = 1 + (piece.piece_type - 1) * 2 + (piece.color == chess.BLACK)
    for square in chess.SquareSet(board.clean_castling_rights()):
        codes[square] = _CASTLING_ROOK + (square >= 32)
    if board.has_pseudo_legal_en_passant():
        assert board.ep_square is not None
        codes[board.ep_square + (8 if board.turn == chess.BLACK else -8)] = _EN_PASSANT_PAWN
    return np.asarray(codes[::2] | codes[1::2] << 4, np.uint8)


def unpack_board(record: NDArray[np.void]) -> chess.Board:
    """The position of one record, without its counters."""
    packed = np.asarray(record["board"])
    codes = np.stack([packed & 15, packed >> 4], axis=1).ravel()
    turn = chess.WHITE if record["black_to_move"] == 0 else chess.BLACK
    board = chess.Board(None)
    board.turn = turn
    for square, code in enumerate(codes.tolist()):
        if code == 0:
            continue
        role, black = divmod(code - 1, 2)
        colour = chess.BLACK if black else chess.WHITE
        if code == _EN_PASSANT_PAWN:
            role, colour = 0, not turn
            board.ep_square = square + (8 if colour == chess.BLACK else -8)
        elif code >= _CASTLING_ROOK:
            role, colour = 3, chess.WHITE if code == _CASTLING_ROOK else chess.BLACK
            board.castling_rights |= chess.BB_SQUARES[square]
        board.set_piece_at(square, chess.Piece(role + 1, colour))
    board.fullmove_number = 1 + int(record["ply"]) // 2
    return board


def mirror_records(records: NDArray[np.void]) -> NDArray[np.void]:
    """Exchange left and right; positions with castling rights stay."""
    packed = records["board"]
    largest = np.maximum(packed & 15, packed >> 4).max(axis=1)
    castling = np.asarray(largest >= _CASTLING_ROOK)
    flipped = packed.reshape(-1, 8, 4)[:, :, ::-1].reshape(-1, 32)
    mirrored = records.copy()
    mirrored["board"] = np.where(castling[:, None], packed, flipped << 4 | flipped >> 4)
    moves = records["move"]
    mirrored["move"] = np.where(castling | (moves == 0), moves, moves ^ (7 | 7 << 6))
    return mirrored


def pack_move(move: chess.Move | None) -> int:
    """A move in 16 bits; 0 for none."""
    if move is None:
        return 0
    return move.from_square | move.to_square << 6 | _PROMOTIONS.index(move.promotion) << 12


def unpack_move(packed: int) -> chess.Move | None:
    """The opposite of `pack_move`."""
    if packed == 0:
        return None
    return chess.Move(packed & 63, packed >> 6 & 63, _PROMOTIONS[packed >> 12])


def header_bytes(header: Mapping[str, object]) -> bytes:
    """A file's first 4,096 bytes."""
    text = json.dumps(dict(header), sort_keys=True).encode()
    if len(_MAGIC) + len(text) > HEADER_SIZE:
        raise ValueError("the header is too long")
    return (_MAGIC + text).ljust(HEADER_SIZE)


def write_records(path: Path, records: NDArray[np.void], header: Mapping[str, object]) -> None:
    """Write a whole file at once."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            file.write(header_bytes(header))
            file.write(np.ascontiguousarray(records, RECORD).tobytes())

    write_atomically(path, write)


def read_header(path: Path) -> dict[str, object]:
    """The header of a record file."""
    if not path.is_file():
        raise UserError(f"there is no record file {path}")
    with path.open("rb") as file:
        return _parse_header(file, path)


def _parse_header(file: BinaryIO, path: Path) -> dict[str, object]:
    start = file.read(HEADER_SIZE)
    if not start.startswith(_MAGIC) or len(start) != HEADER_SIZE:
        raise UserError(f"{path}: not a record file; make one with `zerogames nnue data`")
    try:
        header = json.loads(start[len(_MAGIC) :])
    except ValueError:
        raise UserError(f"{path}: the header is damaged; make the file again") from None
    if not isinstance(header, dict):
        raise UserError(f"{path}: the header is damaged; make the file again")
    return header


def map_records(path: Path) -> NDArray[np.void]:
    """Map the records of a file into memory, read-only."""
    read_header(path)
    size = path.stat().st_size - HEADER_SIZE
    if size % RECORD.itemsize:
        raise UserError(
            f"{path}: {size} bytes of records are no multiple of 40; the file is cut short"
        )
    if size == 0:
        return np.zeros(0, RECORD)
    return np.memmap(path, RECORD, "r", HEADER_SIZE)
