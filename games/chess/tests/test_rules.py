import random

import chess
import pytest
from zerogames_chess import _native

import zerogames

GAME = zerogames.get_game("chess")


def recorded(board: chess.Board) -> tuple[object, ...]:
    """A position as repetition sees it: en passant counts if a pawn stands ready to take."""
    en_passant = board.ep_square if board.has_pseudo_legal_en_passant() else None
    return board.board_fen(), board.turn, board.clean_castling_rights(), en_passant


def expected_end(board: chess.Board, times: int) -> str:
    if board.is_checkmate():
        return "checkmate"
    if board.is_stalemate():
        return "stalemate"
    if board.is_insufficient_material():
        return "insufficient material"
    if board.halfmove_clock >= 100:
        return "fifty moves"
    return "threefold repetition" if times >= 3 else ""


def play_and_compare(board: chess.Board, rng: random.Random) -> str:
    """One random game in step with python-chess; returns how it ended."""
    state = _native.State.from_fen(board.fen(), board.chess960)
    seen: dict[tuple[object, ...], int] = {}
    while True:
        times = seen[recorded(board)] = seen.get(recorded(board), 0) + 1
        end = expected_end(board, times)
        assert state.end_reason == end, board.fen()
        assert state.fen == board.fen(en_passant="xfen")
        assert state.repetitions == times - 1
        assert state.in_check == board.is_check()
        if end:
            winner = None if end != "checkmate" else -1.0 if board.turn == chess.WHITE else 1.0
            assert state.result == (winner or 0.0)
            return end
        assert state.result is None
        actions = state.legal_actions().tolist()
        moves = {state.uci(action): action for action in actions}
        assert moves.keys() == {board.uci(move) for move in board.legal_moves}, board.fen()
        uci = rng.choice(sorted(moves))
        state = state.play(moves[uci])
        board.push(board.parse_uci(uci))


def compare_games(num_games: int, seed: int) -> None:
    rng = random.Random(seed)
    ends: set[str] = set()
    for number in range(num_games):
        if number % 4 == 3:
            board = chess.Board.from_chess960_pos(rng.randrange(960))
        else:
            board = chess.Board()
        ends.add(play_and_compare(board, rng))
    assert ends >= {"checkmate", "stalemate", "insufficient material", "threefold repetition"}


def test_random_games_agree_with_python_chess() -> None:
    compare_games(120, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_random_games_agree_with_python_chess(seed: int) -> None:
    compare_games(500, seed)


@pytest.mark.parametrize(
    ("fen", "reason"),
    [
        ("8/8/4k3/8/8/3K4/8/8 w - - 0 1", "insufficient material"),
        ("8/8/4k3/8/8/3KN3/8/8 w - - 0 1", "insufficient material"),
        ("8/8/4k3/8/8/3KNN2/8/8 w - - 0 1", ""),
        ("8/8/4kn2/8/8/3KN3/8/8 w - - 0 1", ""),
        ("8/8/4kb2/8/8/3KN3/8/8 w - - 0 1", ""),
        ("8/8/4kb2/8/8/3KB3/8/8 w - - 0 1", "insufficient material"),  # f6 and e3 are dark
        ("8/8/4kb2/8/8/5B2/2K5/8 b - - 0 1", ""),
        ("8/8/4kb2/6b1/8/3KB3/8/2B5 w - - 0 1", "insufficient material"),
        ("8/8/4k3/8/8/3KP3/8/8 w - - 0 1", ""),
        ("7k/8/6KQ/8/8/8/8/8 b - - 0 1", ""),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "checkmate"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "stalemate"),
        ("8/8/6k1/8/8/3KR3/8/8 w - - 100 90", "fifty moves"),
        ("8/8/6k1/8/8/3KR3/8/8 w - - 99 90", ""),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 100 90", "checkmate"),  # mate comes first
    ],
)
def test_ends(fen: str, reason: str) -> None:
    state = _native.State.from_fen(fen)
    assert state.end_reason == reason
    assert (state.result is None) == (reason == "")
    assert expected_end(chess.Board(fen), 1) == reason


def test_fifty_moves_are_a_hundred_plies_and_mate_takes_precedence() -> None:
    state = _native.State.from_fen("7k/R7/1R6/8/8/8/8/K7 w - - 99 80")
    assert state.play(state.parse_uci("b6b8")).end_reason == "checkmate"
    assert state.play(state.parse_uci("a1b1")).end_reason == "fifty moves"
    castled = _native.State.from_fen("4k3/8/8/8/8/8/8/4K2R w K - 7 80")
    assert castled.play(castled.parse_uci("e1g1")).halfmoves == 8


def test_threefold_repetition_counts_the_first_position() -> None:
    shuffle = "g1f3 g8f6 f3g1 f6g8"
    twice = zerogames.parse_position(GAME, f"moves {shuffle}")
    assert twice.result is None
    thrice = zerogames.parse_position(GAME, f"moves {shuffle} {shuffle}")
    assert thrice.end_reason == "threefold repetition"
    assert thrice.result == 0.0
    with pytest.raises(zerogames.UserError, match="over"):
        GAME.parse_action(thrice, "e2e4")
    with pytest.raises(zerogames.UserError, match="not legal"):
        thrice.play(322)


def test_en_passant_is_recorded_only_if_a_pawn_stands_ready() -> None:
    plain = zerogames.parse_position(GAME, "moves e2e4")
    assert str(plain).split()[3] == "-"
    ready = zerogames.parse_position(GAME, "moves e2e4 a7a6 e4e5 d7d5")
    assert str(ready).split()[3] == "d6"
    # Pinned, so it may not take; it still stands ready.
    pinned = zerogames.parse_position(GAME, "4r1k1/3p4/8/4P3/8/8/8/4K3 b - - 0 1 moves d7d5")
    assert str(pinned).split()[3] == "d6"
    assert "e5d6" not in [GAME.format_action(pinned, int(a)) for a in pinned.legal_actions()]


@pytest.mark.parametrize(
    ("position", "text", "uci"),
    [
        ("", "e4", "e2e4"),
        ("", "Nf3", "g1f3"),
        ("moves e2e4 d7d5", "exd5", "e4d5"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O", "e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "O-O-O", "e8c8"),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8=N", "a7a8n"),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a8=Q", "a7a8q"),
    ],
)
def test_moves_may_be_written_as_san(position: str, text: str, uci: str) -> None:
    state = zerogames.parse_position(GAME, position)
    assert GAME.format_action(state, GAME.parse_action(state, text)) == uci


@pytest.mark.parametrize(
    ("position", "text", "message"),
    [
        ("", "e5", "not legal"),
        ("", "e2e5", "not legal"),
        ("", "Zf3", "not a move"),
        ("", "--", "not"),
        ("", "e1g1", "not legal"),
        ("4k3/8/8/8/8/8/8/4K2R w - - 0 1", "e1g1", "no right to castle"),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1e3", "not legal"),
        ("R6R/8/1k6/8/8/8/8/K7 w - - 0 1", "Rd8", "several"),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8", "a7a8q"),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8k", "q, r, b or n"),
    ],
)
def test_wrong_moves_say_why(position: str, text: str, message: str) -> None:
    state = zerogames.parse_position(GAME, position)
    with pytest.raises(zerogames.UserError, match=message):
        GAME.parse_action(state, text)
