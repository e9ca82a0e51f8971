import hashlib

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

import zerogames
from zerogames.game import State

GAME = zerogames.get_game("chess")
ENCODING = GAME.encodings["lc0-classic"]
FILLS = ("fen_only", "always", "no")
EN_PASSANT = "rnbqkbnr/ppp1pppp/8/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def on_disk(state: State, fill: str = "fen_only") -> bytes:
    """The 832 bytes of a chunk: a rank a byte, the a-file in the highest bit."""
    packed = state.pack(f"lc0-classic:fill={fill}")  # type: ignore[attr-defined]
    bits = np.unpackbits(np.frombuffer(packed, np.uint8, 832), bitorder="little")
    return np.packbits(bits).tobytes()


@pytest.mark.parametrize(
    ("position", "planes", "disk"),
    [
        (
            "",
            "5160e37dee1571b7f79158c5eb226a0d8a36525444d51663b4144307fd0dba92",
            "0a34b5172c959ef5b22175b52021d9f55dced61eaefc130673e45254a0240f53",
        ),
        (
            "moves e2e4 e7e5 g1f3",
            "cbcdfdef079f2a9cafa5aca369ff33c8c4009f22e432a80b554f0b0dd5b0d7a0",
            "c8dbe56903012edb7510969ca73558e1d22e28078d22f5f65758d9c3eb3cab68",
        ),
        (
            EN_PASSANT,
            "af6a7c6c8bddae39d04d6543143bd239cc062d5ffebfa4d4be053b3c897690e7",
            "5c8231b9f787d303b4c3ddd9a4fbd38e7bf0de8952b8e198b9c968a05de2534c",
        ),
    ],
)
def test_check_values(position: str, planes: str, disk: str) -> None:
    state = zerogames.parse_position(GAME, position)
    assert sha256(state.observe("lc0-classic").astype(np.uint8).tobytes()) == planes
    assert sha256(on_disk(state)) == disk


def test_bit_order_on_disk() -> None:
    data = on_disk(GAME.initial_state())
    assert data[:8] == bytes.fromhex("00ff000000000000")
    assert data[8:16] == bytes.fromhex("4200000000000000")


def key(board: chess.Board) -> tuple[object, ...]:
    """What makes two positions the same; en passant as the board records it."""
    return board.board_fen(), board.turn, board.castling_rights, board.ep_square


def recorded_en_passant(board: chess.Board) -> chess.Board:
    """Forget an en-passant square that no pawn could use."""
    if not board.has_pseudo_legal_en_passant():
        board.ep_square = None
    return board


def reference_planes(positions: list[chess.Board], fill: str) -> NDArray[np.float32]:
    """Planes `[112, 8, 8]` of the last position, from the text of the format alone.

    `positions` is the whole game, the first as given.
    """
    current = positions[-1]
    us = current.turn
    planes = np.zeros((112, 8, 8), np.float32)

    def draw(slot: int, board: chess.Board, repeated: bool) -> None:
        for square, piece in board.piece_map().items():
            seen = square if us == chess.WHITE else chess.square_mirror(square)
            plane = 13 * slot + piece.piece_type - 1 + (0 if piece.color == us else 6)
            planes[plane, chess.square_rank(seen), chess.square_file(seen)] = 1
        planes[13 * slot + 12] = repeated

    def repeated(index: int) -> bool:
        clock = positions[index].halfmove_clock
        earliest = max(0, index - clock)
        earlier = range(index - 4, earliest - 1, -2)
        return any(key(positions[i]) == key(positions[index]) for i in earlier)

    known = min(8, len(positions))
    for slot in range(known):
        index = len(positions) - 1 - slot
        draw(slot, positions[index], repeated(index))
    if known < 8:
        oldest = positions[0].copy()
        is_start = key(oldest) == key(chess.Board())
        had_en_passant = oldest.ep_square is not None
        if oldest.ep_square is not None:
            step = 8 if oldest.turn == chess.BLACK else -8  # from the skipped to the pawn's square
            pawn = oldest.remove_piece_at(oldest.ep_square + step)
            oldest.set_piece_at(oldest.ep_square - step, pawn)
        filled = {
            "fen_only": 0 if is_start else 8 - known,
            "always": 8 - known,
            "no": int(had_en_passant),
        }[fill]
        for slot in range(known, known + filled):
            draw(slot, oldest, False)
    for plane, side in ((104, us), (106, not us)):
        planes[plane] = current.has_queenside_castling_rights(side)
        planes[plane + 1] = current.has_kingside_castling_rights(side)
    planes[108] = us == chess.BLACK
    planes[109] = current.halfmove_clock
    planes[111] = 1
    return planes


STARTS = (
    chess.STARTING_FEN,
    EN_PASSANT,
    "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",  # nobody can take
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b Kq - 7 30",
    "k7/p7/P7/8/8/p7/P7/K7 w - - 30 60",  # few moves: repetitions
)


@pytest.mark.parametrize("start", STARTS)
def test_planes_equal_a_plain_reference(start: str) -> None:
    random = np.random.default_rng(5)
    seen_repetition = False
    for _ in range(3):
        board = chess.Board(start)
        positions = [board.copy(stack=False)]
        state = GAME.parse_state(start)
        for _ in range(60):
            for fill in FILLS:
                planes = state.observe(f"lc0-classic:fill={fill}")
                expected = reference_planes(positions, fill)
                assert np.array_equal(planes, expected), (board.fen(), fill)
                packed = state.pack(f"lc0-classic:fill={fill}")  # type: ignore[attr-defined]
                assert np.array_equal(ENCODING.unpack(packed), planes)
            seen_repetition |= bool(planes[12].any())
            if state.result is not None:
                break
            action = int(random.choice(state.legal_actions()))
            board.push_uci(GAME.format_action(state, action))
            positions.append(recorded_en_passant(board.copy(stack=False)))
            state = state.play(action)
    if start == STARTS[-1]:
        assert seen_repetition


def test_observation_key_tells_histories_apart_and_position_key_does_not() -> None:
    one = zerogames.parse_position(GAME, "moves g1f3 g8f6 b1c3 b8c6")
    two = zerogames.parse_position(GAME, "moves b1c3 b8c6 g1f3 g8f6")
    assert one.position_key == two.position_key
    assert one.observation_key != two.observation_key
    back = zerogames.parse_position(GAME, "moves g1f3 g8f6 f3g1 f6g8")
    assert back.position_key == GAME.initial_state().position_key
    assert back.observation_key != GAME.initial_state().observation_key


@pytest.mark.parametrize(
    ("fen", "other"),
    [
        ("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"),
        ("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "4k3/8/8/8/8/8/8/R3K3 b Q - 0 1"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "4k3/8/8/3pP3/8/8/8/4K3 w - - 0 1"),
    ],
)
def test_position_key_covers_side_rights_and_en_passant(fen: str, other: str) -> None:
    assert GAME.parse_state(fen).position_key != GAME.parse_state(other).position_key


def test_observation_key_covers_the_rule_50_counter() -> None:
    board = "4k3/8/8/8/8/8/8/R3K3 w Q -"
    first, second = (GAME.parse_state(f"{board} {plies} 40") for plies in (3, 4))
    assert first.position_key == second.position_key
    assert first.observation_key != second.observation_key


def test_equal_keys_mean_equal_planes_in_random_games() -> None:
    random = np.random.default_rng(9)
    seen: dict[int, bytes] = {}
    for _ in range(40):
        state = GAME.initial_state()
        while state.result is None and state.plies < 150:
            packed = state.pack("lc0-classic")  # type: ignore[attr-defined]
            assert seen.setdefault(state.observation_key, packed) == packed
            state = state.play(int(random.choice(state.legal_actions())))
    assert len(set(seen.values())) == len(seen)


def test_an_unknown_fill_is_refused() -> None:
    with pytest.raises(zerogames.UserError, match="fill=always"):
        GAME.initial_state().observe("lc0-classic:fill=maybe")
