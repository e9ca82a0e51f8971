"""Random games beside another program's rules: legal moves, checks and ends."""

import random
import re
from collections import Counter

import pytest
from zerogames_shogi.shogi_game import HANDICAPS, start_sfen

from zerogames import UserError, get_game

cshogi = pytest.importorskip("cshogi", reason="cshogi is not installed")

GAME = get_game("shogi:entering-king=none")


def compare_games(num_games: int, seed: int, start: str = "") -> Counter[str]:
    """Play random games with both; return the reasons of the ends."""
    chance = random.Random(seed)
    reasons: Counter[str] = Counter()
    for _ in range(num_games):
        board = cshogi.Board(start) if start else cshogi.Board()
        state = GAME.parse_state(start) if start else GAME.initial_state()
        seen: list[tuple[str, bool]] = []
        while True:
            place = " ".join(board.sfen().split()[:3])
            seen.append((place, board.is_check()))
            assert GAME.format_state(state).split()[:3] == place.split()
            theirs = sorted(cshogi.move_to_usi(move) for move in board.legal_moves)
            assert state.in_check == board.is_check()
            if state.result is not None:
                break
            actions = state.legal_actions().tolist()
            ours = {GAME.format_action(state, action): action for action in actions}
            assert sorted(ours) == theirs, place
            # As many quiet moves as others, else every game is a slaughter.
            move = chance.choice(theirs)
            board.push_usi(move)
            state = state.play(ours[move])
        reasons[state.end_reason] += 1
        check_end(state, board, seen, theirs)
    return reasons


def check_end(state, board, seen: list[tuple[str, bool]], theirs: list[str]) -> None:
    """The end by the referee's moves and checks, and by the positions that were there."""
    if not theirs:
        assert state.result == (-1.0 if board.turn == cshogi.BLACK else 1.0)
        assert state.end_reason == ("checkmate" if board.is_check() else "no legal move")
        return
    places = [place for place, _ in seen]
    if places.count(places[-1]) < 4:
        assert (state.end_reason, state.plies) == ("move limit", GAME.spec.max_plies)
        return
    first = places.index(places[-1])
    # Entry i is what the move i - 1 led to: those after `first` are the moves between.
    last_mover = [checked for _, checked in seen[len(seen) - 1 : first : -2]]
    other = [checked for _, checked in seen[len(seen) - 2 : first : -2]]
    if all(last_mover) == all(other):
        assert (state.result, state.end_reason) == (0.0, "repetition")
    else:
        mover_is_black = board.turn == cshogi.WHITE
        black_loses = mover_is_black if all(last_mover) else not mover_is_black
        assert (state.result, state.end_reason) == (
            -1.0 if black_loses else 1.0,
            "perpetual check",
        )


def test_fifty_random_games():
    assert compare_games(50, seed=1)["checkmate"] > 10


@pytest.mark.parametrize("handicap", [name for name in HANDICAPS if name != "none"])
def test_handicap_games(handicap):
    assert compare_games(3, seed=3, start=start_sfen(handicap)).total() == 3


def test_kings_enter_as_the_referee_declares():
    """Kings in the promotion zone, with about as many pieces and points as the rule asks for."""
    chance, declared = random.Random(4), Counter[tuple[str, bool]]()
    rules = get_game("shogi")
    while declared.total() < 400:
        side = chance.choice("bw")
        sfen = entering_position(chance, side)
        try:
            state = rules.parse_state(sfen)
        except UserError:
            continue  # the other king would be in check
        theirs = bool(cshogi.Board(sfen).is_nyugyoku())
        assert (state.end_reason == "entering king") == theirs, sfen
        declared[side, theirs] += 1
    assert min(declared.values()) > 20, declared
    assert len(declared) == 4


def entering_position(chance: random.Random, side: str) -> str:
    """A king of `side` among its pieces in the zone, the other pieces shared out in hands."""
    zone = [(row, file) for row in range(3) for file in range(9)]
    chance.shuffle(zone)
    pool = [*"RRBB", *"GSNL" * 4, *"P" * 18]
    chance.shuffle(pool)
    count = chance.randrange(9, 12)
    board = {zone.pop(): "K", (chance.randrange(4, 9), chance.randrange(9)): "k"}
    for piece in pool[:count]:
        # Promoted, so that no pawn doubles and none is stuck.
        board[zone.pop()] = f"+{piece}" if piece in "PLN" else piece
    hands = Counter(piece if chance.random() < 0.5 else piece.lower() for piece in pool[count:])
    rows = [[board.get((row, file), "1") for file in range(9)] for row in range(9)]
    held = "".join(f"{number}{piece}" for piece, number in hands.items())
    text = "/".join("".join(row) for row in rows)
    if side == "w":  # the same from the other side
        text = "/".join("".join(reversed(row)) for row in reversed(rows)).swapcase()
        held = held.swapcase()
    place = re.sub("1+", lambda ones: str(len(ones[0])), text)
    return f"{place} {side} {re.sub('(?<![0-9])1(?=[A-Za-z])', '', held) or '-'} 1"


@pytest.mark.slow
def test_a_thousand_random_games():
    assert compare_games(1000, seed=2)["checkmate"] > 200


def test_shuffled_pieces_repeat_as_often():
    """Games of few pieces, which repeat and check all the time."""
    chance = random.Random(5)
    reasons: Counter[str] = Counter()
    for _ in range(150):
        sfen = "4k4/9/9/9/9/9/9/4R4/4K4 w - 1"
        board, state = cshogi.Board(sfen), GAME.parse_state(sfen)
        seen = []
        while True:
            seen.append((" ".join(board.sfen().split()[:3]), board.is_check()))
            theirs = sorted(cshogi.move_to_usi(move) for move in board.legal_moves)
            if state.result is not None:
                break
            # The rook goes on checking where it can; the king stays near.
            checking = [move for move in theirs if gives_check(board, move)]
            near = [move for move in theirs if move[2] in "456" and move[3] in "ab"]
            move = chance.choice(checking or near or theirs)
            state = state.play(GAME.parse_action(state, move))
            board.push_usi(move)
        reasons[state.end_reason] += 1
        check_end(state, board, seen, theirs)
    assert reasons["perpetual check"] > 5
    assert reasons["repetition"] > 0


def gives_check(board, move: str) -> bool:
    board.push_usi(move)
    found = bool(board.is_check())
    board.pop()
    return found
