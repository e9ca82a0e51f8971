"""The rules: numbers of moves, drops, promotion and ends of games."""

import pytest
from zerogames_shogi import ShogiOptions
from zerogames_shogi.shogi_game import HANDICAPS, start_sfen

from zerogames import get_game
from zerogames.errors import UserError
from zerogames.game import Game, State, parse_actions, play_actions

START = start_sfen("none")
MIDDLE = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"


@pytest.fixture(scope="module")
def shogi() -> Game:
    return get_game("shogi")


def play(game: Game, start: str, *moves: str) -> State:
    state = game.parse_state(start)
    return play_actions(state, parse_actions(game, state, moves))


def moves_of(game: Game, text: str) -> set[str]:
    state = game.parse_state(text)
    return {game.format_action(state, action) for action in state.legal_actions().tolist()}


@pytest.mark.parametrize(
    ("sfen", "counts"),
    [
        (START, (30, 900, 25470, 719731)),
        (MIDDLE, (207, 28684, 4809015)),
        (MOST_MOVES, (593, 105677)),
    ],
)
def test_perft(shogi, sfen, counts):
    state = shogi.parse_state(sfen)
    assert tuple(state.perft(depth + 1) for depth in range(len(counts))) == counts


@pytest.mark.slow
@pytest.mark.parametrize(("sfen", "depth", "count"), [(START, 5, 19861490), (MIDDLE, 4, 516925165)])
def test_deep_perft(shogi, sfen, depth, count):
    assert shogi.parse_state(sfen).perft(depth) == count


def test_divide_adds_up_to_perft(shogi):
    state = shogi.parse_state(MIDDLE)
    counts = state.divide(2)
    assert {move for move, _ in counts} == moves_of(shogi, MIDDLE)
    assert sum(nodes for _, nodes in counts) == 28684


def test_two_pawns_never_share_a_file(shogi):
    found = moves_of(shogi, "4k4/9/9/9/9/9/4P4/9/4K4 b P 1")
    drops = {move for move in found if move.startswith("P*")}
    assert not any(move[2] == "5" for move in drops)
    assert len(drops) == 8 * 8
    # A promoted pawn is no pawn any more.
    found = moves_of(shogi, "4k4/9/9/9/9/9/4+P4/9/4K4 b P 1")
    assert "P*5f" in found


def test_pieces_are_not_dropped_where_they_could_never_move(shogi):
    found = moves_of(shogi, "4k4/9/9/9/9/9/9/9/4K4 b PLN 1")
    assert not any(move[1:] == "*9a" for move in found)
    assert {"P*9b", "L*9b", "N*9c"} <= found
    assert "N*9b" not in found


def test_promotion_is_a_choice_until_it_is_forced(shogi):
    found = moves_of(shogi, "4k4/P8/2S6/9/L8/9/9/9/4K4 b - 1")
    assert "9b9a+" in found
    assert "9b9a" not in found
    assert {"7c8d", "7c8d+"} <= found, "out of the zone too"
    found = moves_of(shogi, "4k4/9/9/L8/9/2N6/9/9/4K4 b - 1")
    assert {"9d9c", "9d9c+", "9d9b", "9d9b+", "9d9a+"} <= found
    assert "9d9a" not in found
    assert "7f8d+" not in found


def test_a_pawn_drop_may_check_but_not_mate(shogi):
    assert "P*1b" not in moves_of(shogi, "8k/9/6NG1/9/9/9/9/9/4K4 b P 1")
    assert "P*1b" in moves_of(shogi, "8k/9/7G1/9/9/9/9/9/4K4 b P 1")
    with pytest.raises(UserError, match="not legal here"):
        play(shogi, "8k/9/6NG1/9/9/9/9/9/4K4 b P 1", "P*1b")
    mate = play(shogi, "8k/9/6NGP/9/9/9/9/9/4K4 b - 1", "1c1b")
    assert (mate.result, mate.end_reason) == (1.0, "checkmate")


def test_a_side_without_a_move_has_lost(shogi):
    state = shogi.parse_state("k8/2+R6/1G7/9/9/9/9/9/8K w - 1")
    assert not state.in_check
    assert (state.result, state.end_reason) == (1.0, "no legal move")


def test_fourth_occurrence_is_a_draw(shogi):
    cycle = ("2h3h", "8b7b", "3h2h", "7b8b")
    state = play(shogi, START, *cycle * 3)
    assert (state.result, state.end_reason) == (0.0, "repetition")
    assert play(shogi, START, *(cycle * 3)[:-1]).result is None


def test_perpetual_check_loses(shogi):
    cycle = ("5a4a", "5h4h", "4a5a", "4h5h")
    state = play(shogi, "4k4/9/9/9/9/9/9/R8/4K4 b - 1", "9h5h", *cycle * 3)
    assert (state.result, state.end_reason) == (-1.0, "perpetual check")
    # One quiet move among the checks, and it is a draw.
    state = shogi.parse_state("4k4/9/9/9/9/9/9/4R4/4K4 w - 1")
    quiet = ("5a4a", "5h4h", "4a3a", "4h5h", "3a4a", "5h4h", "4a5a", "4h5h")
    for move in quiet * 3:
        if state.result is None:
            state = state.play(shogi.parse_action(state, move))
    assert (state.result, state.end_reason) == (0.0, "repetition")


def test_perpetual_check_by_white_wins_for_black(shogi):
    cycle = ("5i4i", "5b4b", "4i5i", "4b5b")
    state = play(shogi, "4k4/r8/9/9/9/9/9/9/4K4 w - 1", "9b5b", *cycle * 3)
    assert (state.result, state.end_reason) == (1.0, "perpetual check")


ENTERED = "1SGKGS3/9/RBGNSNLL1/9/9/9/9/9/4k4 b R3P 1"


def test_entering_king_is_an_option(shogi):
    state = shogi.parse_state(ENTERED)
    assert (state.result, state.end_reason) == (1.0, "entering king")
    assert shogi.parse_state(ENTERED.replace("R3P", "R2P")).result is None
    without = get_game("shogi:entering-king=none").parse_state(ENTERED)
    assert without.result is None
    assert without.may_declare


def test_games_end_at_the_move_limit():
    game = get_game("shogi:max-plies=2")
    state = play(game, START, "7g7f", "3c3d")
    assert (state.result, state.end_reason) == (0.0, "move limit")
    assert game.spec.max_plies == 2


@pytest.mark.parametrize("handicap", HANDICAPS)
def test_handicaps(handicap):
    game = get_game(f"shogi:handicap={handicap}")
    state = game.initial_state()
    assert state.to_play == (0 if handicap == "none" else 1)
    assert game.format_state(state) == start_sfen(handicap)
    assert ShogiOptions(handicap=handicap).handicap == handicap


@pytest.mark.parametrize(
    ("sfen", "reason"),
    [
        ("4k4/9/9/9/9/9/9/9/9 b - 1", "Black has 0 kings"),
        ("4k4/9/9/P8/9/P8/9/9/4K4 b - 1", "two pawns on file 9"),
        ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "could never move"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 3R 1", "3 pieces 'R', more than 2"),
        ("4k4/4R4/9/9/9/9/9/9/4K4 b - 1", "the side not to move is in check"),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 0", "move number '0'"),
    ],
)
def test_impossible_positions_are_refused_with_the_reason(shogi, sfen, reason):
    with pytest.raises(UserError, match=reason):
        shogi.parse_state(sfen)


def test_a_pawn_that_must_promote_is_told_so(shogi):
    with pytest.raises(UserError, match=r"must promote, write 9b9a\+"):
        play(shogi, "4k4/P8/9/9/9/9/9/9/4K4 b - 1", "9b9a")
