import random
import string

import chess
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from zerogames_chess import _native

import zerogames

GAME = zerogames.get_game("chess")
CHESS960 = zerogames.get_game("chess:variant=960")


@st.composite
def played_positions(draw: st.DrawFn, chess960: bool = False) -> chess.Board:
    """A position some random moves after a start."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    board = chess.Board.from_chess960_pos(rng.randrange(960)) if chess960 else chess.Board()
    for _ in range(draw(st.integers(0, 80))):
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(rng.choice(moves))
    return board


@given(played_positions())
def test_fens_read_back(board: chess.Board) -> None:
    fen = board.fen(en_passant="fen")
    assert _native.State.from_fen(fen).fen == fen


@given(played_positions(chess960=True))
def test_x_fen_and_shredder_fen_mean_the_same(board: chess.Board) -> None:
    x_fen = board.fen(en_passant="xfen")
    shredder = board.fen(shredder=True, en_passant="xfen")
    assert _native.State.from_fen(shredder, True).fen == x_fen
    assert _native.State.from_fen(x_fen, True).fen == x_fen


def test_standard_chess_takes_file_letters_for_the_usual_rooks() -> None:
    text = str(GAME.initial_state())
    assert str(GAME.parse_state(text.replace("KQkq", "HAha"))) == text


def test_the_inner_rook_is_written_by_its_file() -> None:
    fen = "1r2k1rr/8/8/8/8/8/8/RR2K1R1 w KBgq - 3 9"
    assert _native.State.from_fen(fen, True).fen == fen
    assert chess.Board(fen, chess960=True).fen() == fen


def test_counters_may_be_left_out() -> None:
    assert GAME.format_state(GAME.parse_state("4k3/8/8/8/8/8/8/4K2R w K -")).endswith(" 0 1")


@pytest.mark.parametrize(
    ("fen", "reason"),
    [
        ("", "0 fields"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "0 kings"),
        ("kk6/8/8/8/8/8/8/K7 w - - 0 1", "Black has 2 kings"),
        ("k7/8/8/8/8/8/8/KP6 w - - 0 1", "pawn stands on rank 1 or 8"),
        ("kp6/8/8/8/8/8/8/K7 w - - 0 1", "pawn stands on rank 1 or 8"),
        ("k6R/8/8/8/8/8/8/K7 w - - 0 1", "side not to move is in check"),
        ("k6K/8/8/8/8/8/8/R7 b - - 0 1", None),
        ("kK6/8/8/8/8/8/8/8 w - - 0 1", "side not to move is in check"),
        ("4k3/8/8/8/8/8/8/4K2R w Q - 0 1", "no such rook"),
        ("4k3/8/8/8/8/8/4K3/7R w K - 0 1", "not on its first rank"),
        ("4k3/8/8/8/8/8/8/3K3R w K - 0 1", "Chess960"),
        ("4k3/8/8/8/8/8/8/4K1R1 w K - 0 1", "Chess960"),
        ("4k3/8/8/8/8/8/8/4K2R w KK - 0 1", "twice"),
        ("4k3/8/8/8/8/8/8/4K2R w KH - 0 1", "twice"),
        ("4k3/8/8/8/8/8/8/4K2R w X - 0 1", "not a castling right"),
        ("4k3/8/8/8/8/8/8/4K3 w - d6 0 1", "no pawn has just passed"),
        ("4k3/8/3n4/3p4/8/8/8/4K3 w - d6 0 1", "way is not empty"),
        ("4k3/3n4/8/3p4/8/8/8/4K3 w - d6 0 1", "way is not empty"),
        ("4k3/8/8/3p4/8/8/8/4K3 w - d5 0 1", "third rank"),
        ("4k3/8/8/3p4/8/8/8/4K3 b - d6 0 1", "third rank"),
        ("4k3/8/8/3p4/8/8/8/4K3 w - d9 0 1", "not an en-passant square"),
        ("4k3/8/8/8/8/8/8/4K3 w - - -1 1", "halfmove clock"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 151 1", "halfmove clock"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 0", "move number"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 99999999999999999999", "move number"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0", "5 fields"),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "not w or b"),
        ("4k3/8/8/8/8/8/8 w - - 0 1", "8 ranks"),
        ("4k3/8/8/8/8/8/8/8/4K3 w - - 0 1", "more than 8 ranks"),
        ("4k4/8/8/8/8/8/8/4K3 w - - 0 1", "more than 8 squares"),
        ("4k2/8/8/8/8/8/8/4K3 w - - 0 1", "not 8 squares"),
        ("4k12/8/8/8/8/8/8/4K3 w - - 0 1", "side by side"),
        ("4k3/8/8/8/8/8/8/4X3 w - - 0 1", "not a piece"),
        ("4k3/pppppppp/p7/8/8/8/8/4K3 w - - 0 1", "more than 8 pawns"),
        ("4k3/8/8/8/8/8/QQQQQQQQ/QQ2K3 b - - 0 1", "too many pieces"),
        ("4k3/8/8/8/8/PPPPPPPP/NNNNNNNN/4K3 b - - 0 1", "more than 16 pieces"),
        ("4k3/8/3N4/8/7B/8/8/K3R3 b - - 0 1", None),
        ("4k3/8/3N1N2/8/8/8/8/K3R3 b - - 0 1", "more than two"),
    ],
)
def test_impossible_positions_are_refused_with_the_reason(fen: str, reason: str | None) -> None:
    if reason is None:
        GAME.parse_state(fen)
        return
    with pytest.raises(zerogames.UserError, match=reason):
        GAME.parse_state(fen)


def test_what_we_accept_python_chess_calls_valid_or_merely_odd() -> None:
    """Random piles of pieces: nothing that python-chess finds impossible gets through."""
    rng = random.Random(3)
    accepted = 0
    for _ in range(6_000):
        density = rng.uniform(0.05, 0.4)
        squares = [
            rng.choice("PNBRQpnbrq" if 8 <= at < 56 else "NBRQnbrq")
            if rng.random() < density
            else "1"
            for at in range(64)
        ]
        for king, at in zip("Kk", rng.sample(range(64), 2), strict=True):
            squares[at] = king
        pieces = {at: chess.Piece.from_symbol(x) for at, x in enumerate(squares) if x != "1"}
        board = chess.Board(None)
        board.set_piece_map(pieces)
        board.turn = rng.random() < 0.5
        board.set_castling_fen(rng.choice(["-", "KQkq", "Kq", "Q"]))
        fen = board.fen()
        board = chess.Board(fen)
        if board.status() & ~(chess.STATUS_TOO_MANY_CHECKERS | chess.STATUS_IMPOSSIBLE_CHECK):
            with pytest.raises(zerogames.UserError):
                _native.State.from_fen(fen)
            continue
        try:
            state = _native.State.from_fen(fen)
        except zerogames.UserError as error:
            assert any(word in str(error) for word in ("too many pieces", "more than two"))  # noqa: PT017
            continue
        accepted += 1
        moves = {state.uci(int(action)) for action in state.legal_actions()}
        if state.result is None:
            assert moves == {board.uci(move) for move in board.legal_moves}, fen
        assert state.perft(1) == board.legal_moves.count()
    assert accepted > 500


FEN_LIKE = st.text(alphabet="pnbrqkPNBRQK12345678/ wb-KQkqabcdefgh03\t\n", max_size=100)


@given(st.one_of(st.text(max_size=200), FEN_LIKE))
@example("4k3/8/8/8/8/8/8/4K3 w " + "-" * 10_000)
@example("/" * 100 + " w - - 0 1")
@example("k" * 300 + " w - - 0 1")
def test_garbage_is_refused_or_read_never_worse(text: str) -> None:
    for game in (GAME, CHESS960):
        try:
            state = game.parse_state(text)
        except zerogames.UserError as error:
            assert "\n" not in str(error)  # noqa: PT017
            assert len(str(error)) < 300  # noqa: PT017
        else:
            assert game.format_state(game.parse_state(str(state))) == str(state)


@given(st.one_of(st.text(max_size=20), st.text(alphabet=string.ascii_letters + "12345678=+#x-O")))
def test_garbage_moves_are_refused(text: str) -> None:
    state = GAME.initial_state()
    try:
        action = GAME.parse_action(state, text)
    except zerogames.UserError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert state.is_legal(action)


@given(played_positions(), st.integers(0, 40), st.sampled_from("pnbrqkPNBRQK18/ wb-"))
def test_a_changed_letter_never_gives_a_broken_state(
    board: chess.Board, at: int, letter: str
) -> None:
    fen = board.fen()
    text = fen[:at] + letter + fen[at + 1 :]
    try:
        state = _native.State.from_fen(text)
    except zerogames.UserError:
        return
    again = chess.Board(state.fen)
    assert state.perft(1) == again.legal_moves.count()
