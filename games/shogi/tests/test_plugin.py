"""What the plugin offers: conformance, planes, labels, symmetries and pictures."""

import copy

import numpy as np
import pytest
from zerogames_shogi.pieces import LETTERS

from zerogames import get_game
from zerogames.errors import UserError
from zerogames.game import Game, State
from zerogames.testing import check_game

GAME = get_game("shogi")
MIDDLE = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
KINDS = [letters for letters in LETTERS if letters]
HAND = "PLNSGBR"


def random_states(seed: int, count: int, game: Game = GAME) -> list[State]:
    rng = np.random.default_rng(seed)
    states: list[State] = []
    state = game.initial_state()
    while len(states) < count:
        if state.result is not None:
            state = game.initial_state()
        states.append(state)
        state = state.play(int(rng.choice(state.legal_actions())))
    return states


@pytest.mark.parametrize("identity", ["shogi", "shogi:handicap=two,entering-king=none"])
def test_conforms(identity):
    check_game(get_game(identity), num_games=3)


def sfen_of(planes: np.ndarray) -> str:
    """Read squares, side and hands from the planes alone."""
    white = planes[48, 0, 0] == 1
    ranks = []
    for row in range(9):
        cells = []
        for column in range(9):
            at = (8 - row, 8 - column) if white else (row, column)
            found = [kind for kind in range(28) if planes[(kind, *at)]]
            assert len(found) <= 1
            if not found:
                cells.append("1")
                continue
            black = (found[0] < 14) != white
            letters = KINDS[found[0] % 14]
            cells.append(letters if black else letters.lower())
        text = ""
        for cell in cells:
            both = text[-1:].isdigit() and cell == "1"
            text = text[:-1] + str(int(text[-1]) + 1) if both else text + cell
        ranks.append(text)
    hands = ""
    for black in (True, False):
        first = 32 if black != white else 39
        for kind in reversed(range(7)):
            number = int(planes[first + kind, 0, 0])
            letter = HAND[kind] if black else HAND[kind].lower()
            hands += (str(number) if number > 1 else "") + letter if number else ""
    return f"{'/'.join(ranks)} {'w' if white else 'b'} {hands or '-'}"


def test_planes_hold_the_position():
    for state in [*random_states(1, 300), GAME.parse_state(MIDDLE)]:
        planes = state.observe("board")
        text = GAME.format_state(state)
        ours = sfen_of(planes).split()
        assert ours == text.split()[:3]


def test_planes_say_more_than_the_pieces():
    planes = GAME.initial_state().observe("board")
    names = GAME.encodings["board"].planes
    assert len(names) == len(planes) == 50
    attacked = planes[names.index("squares we attack")]
    assert attacked[5].all(), "every pawn attacks the square before it"
    assert not attacked[:5].any()
    assert planes[names.index("files with a pawn of theirs")].all()
    checked = GAME.parse_state("4k4/9/9/9/9/9/9/4r4/4K4 b - 1").observe("board")
    assert checked[names.index("in check")].all()
    assert not checked[names.index("files with a pawn of ours")].any()


def test_repetitions_are_seen_and_key_the_cache():
    state = GAME.initial_state()
    first = state
    for move in ("2h3h", "8b7b", "3h2h", "7b8b"):
        state = state.play(GAME.parse_action(state, move))
    assert state.position_key == first.position_key
    assert state.observation_key != first.observation_key
    names = GAME.encodings["board"].planes
    repeated = names.index("earlier occurrences of the position")
    assert (state.observe("board")[repeated] == 1).all()


def test_both_sides_see_the_same_labels():
    black = GAME.initial_state()
    white = black.play(GAME.parse_action(black, "5i5h"))
    for move, turned in (("7g7f", "3c3d"), ("2h5h", "8b5b"), ("4i3h", "6a7b")):
        assert GAME.parse_action(black, move) == GAME.parse_action(white, turned)


def test_labels_are_direction_and_target():
    state = GAME.initial_state()
    up, up_right = 0, 2
    assert GAME.parse_action(state, "7g7f") == 81 * up + 9 * 5 + 2
    state = GAME.parse_state("4k4/9/9/9/9/9/9/1B7/4K4 b P 1")
    assert GAME.parse_action(state, "8h2b+") == 81 * (10 + up_right) + 9 * 1 + 7
    assert GAME.parse_action(state, "P*5e") == 81 * 20 + 9 * 4 + 4


def test_the_mirror_is_a_symmetry_of_the_rules():
    _, mirror = GAME.symmetries
    for state in random_states(2, 60):
        text = GAME.format_state(state)
        image = GAME.parse_state(mirrored_sfen(text))
        actions = np.zeros(GAME.spec.action_size, np.float32)
        actions[state.legal_actions()] = 1
        assert np.array_equal(np.flatnonzero(mirror.policy(actions)), image.legal_actions())
        fresh = GAME.parse_state(text)
        assert np.array_equal(mirror.planes(fresh.observe("board")), image.observe("board"))


def mirrored_sfen(text: str) -> str:
    board, *rest = text.split()
    ranks = []
    for rank in board.split("/"):
        pieces = rank.replace("+", "+ ").split(" ")
        cells = [letter for part in pieces for letter in part]
        joined, plus = [], ""
        for letter in cells:
            if letter == "+":
                plus = "+"
                continue
            joined.append(plus + letter)
            plus = ""
        ranks.append("".join(reversed(joined)))
    return " ".join(["/".join(ranks), *rest])


def test_random_positions_read_back():
    for state in random_states(3, 300):
        again = GAME.parse_state(GAME.format_state(state))
        assert again.position_key == state.position_key
        assert np.array_equal(again.legal_actions(), state.legal_actions())
        assert copy.copy(state).observation_key == state.observation_key


def test_pictures_show_pieces_and_hands():
    state = GAME.parse_state(MIDDLE)
    picture = GAME.render(state)
    text = picture.ansi(colour=False)
    assert "white in hand: G S N 5P" in text
    assert "black in hand: R G" in text
    assert "b . . . . . +P . g k" in " ".join(text.split())
    svg = picture.svg()
    for kanji in "歩香桂銀金角飛玉王と":
        assert kanji in svg
    assert "rotate(180)" in svg


def test_the_last_move_is_marked():
    state = GAME.initial_state()
    action = GAME.parse_action(state, "7g7f")
    svg = GAME.render(state.play(action), last_action=action).svg()
    assert f'<rect x="{72 + 2 * 48}" y="{28 + 5 * 48}"' in svg
    state = state.play(action)
    action = GAME.parse_action(state, "3c3d")
    svg = GAME.render(state.play(action), last_action=action).svg()
    assert f'<rect x="{72 + 6 * 48}" y="{28 + 3 * 48}"' in svg


def test_nets_with_shogi_kernels():
    spec = GAME.parse_net(GAME.default_net)
    assert spec.policy == "conv"
    assert dict(spec.input_scale)[32] == pytest.approx(1 / 18)
    assert GAME.parse_net("mob_rbngs_2x20").stages[0].kernel == "rbngs"
    with pytest.raises(UserError):
        GAME.parse_net("mob_k_2x16")
