from collections import Counter

import chess
import hypothesis
import pytest
from hypothesis import strategies as st
from nnue_positions import VARIED, random_boards
from zerogames_chess.nnue import _native
from zerogames_chess.nnue.feature_set import BLOCKS, FeatureSet, top_pairs

from zerogames.errors import UserError

NAMES = [*BLOCKS, "toppp:512"]
SIZES = {
    "piece": (768, 32),
    "h": (96, 0),
    "v": (96, 4),
    "d1": (180, 4),
    "d2": (180, 4),
    "h+v": (192, 4),
    "kp": (40_960, 2_656),
    "piece+move": (4_864, 32 + 2_304),
    "relh": (1_200, 60),
    "relv": (1_200, 32),
    "relhv": (2_250, 70),
    "toppp:64": (64, 0),
    "d1+d2": (360, 8),
    "h+v+d1+d2": (552, 12),
    "piece+h+v": (960, 36),
    "piece+d1+d2": (1_128, 40),
    "piece+h+v+d1+d2": (1_320, 44),
    "px": (1_152, 8 * 2 + 2 * 44),
    "py": (1_152, 8 * 2),
    "mb": (768, 32),
    "mc": (206, 20),
}
SUM = "piece+h+v+d1+d2+kp+relh+relv+relhv+px+py+mb+mc+toppp:512"


def native(name: str) -> _native.FeatureSet:
    return _native.FeatureSet(name, top_pairs())


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_dead_features_are_those_of_the_specification(name: str) -> None:
    features = FeatureSet(name)
    assert (features.size, len(features.dead)) == SIZES[name]


def test_ordered_pairs_are_the_square_of_piece() -> None:
    assert FeatureSet("pp").size == 589_824


@pytest.mark.parametrize("name", NAMES)
def test_start_position_looks_the_same_from_both_sides(name: str) -> None:
    features = FeatureSet(name)
    white, black = (features.active(chess.Board(), pov) for pov in chess.COLORS)
    assert Counter(white) == Counter(black)


@pytest.mark.parametrize("name", NAMES)
def test_mirrored_position_swaps_perspectives_and_indices_are_in_range(name: str) -> None:
    features = FeatureSet(name)
    dead = features.dead
    for fen in VARIED:
        board = chess.Board(fen)
        for pov in chess.COLORS:
            active = features.active(board, pov)
            assert Counter(active) == Counter(features.active(board.mirror(), not pov))
            assert all(0 <= index < features.size for index in active)
            assert not dead & set(active)
            assert len(active) <= features.max_active


@pytest.mark.parametrize("name", NAMES)
def test_changes_of_every_legal_move_lead_to_the_new_position(name: str) -> None:
    features, fast = FeatureSet(name), native(name)
    for fen in VARIED[:: 4 if name == "pp" else 1]:
        board = chess.Board(fen)
        # All special moves, and every third of the rest.
        for number, move in enumerate(list(board.legal_moves)):
            special = board.is_castling(move) or board.is_en_passant(move) or move.promotion
            if not special and number % 3:
                continue
            after = board.copy(stack=False)
            after.push(move)
            for pov in chess.COLORS:
                before = Counter(features.active(board, pov))
                expected = Counter(features.active(after, pov))
                changed = fast.changed(board.fen(), after.fen(), pov)
                refresh = features.needs_refresh(board, move, pov)
                assert refresh == (changed is None)
                if changed is None:
                    continue
                added, removed = map(Counter, features.changed(board, move, pov))
                assert not removed - before
                assert before + added - removed == expected
                # The native side is binary: what was absent comes, what was present goes.
                assert set(changed[0]) == set(expected) - set(before)
                assert set(changed[1]) == set(before) - set(expected)
                assert all(len(set(part)) == len(part) for part in changed)


@pytest.mark.parametrize("name", NAMES)
def test_native_features_equal_python_on_random_positions(name: str) -> None:
    features, fast = FeatureSet(name), native(name)
    assert (fast.size, fast.max_active) == (features.size, features.max_active)
    for board in random_boards(100 if name == "pp" else 300, seed=5):
        for pov in chess.COLORS:
            found = fast.active(board.fen(), pov)
            assert sorted(found) == sorted(set(features.active(board, pov)))


def test_a_sum_has_all_blocks_one_after_the_other() -> None:
    features, fast = FeatureSet(SUM), native(SUM)
    assert features.size == fast.size == sum(block.size for block in features.blocks)
    for board in random_boards(60, seed=6):
        for pov in chess.COLORS:
            expected = [
                offset + index
                for block, offset in zip(SUM.split("+"), features.offsets, strict=True)
                for index in set(FeatureSet(block).active(board, pov))
            ]
            assert sorted(fast.active(board.fen(), pov)) == sorted(expected)


@hypothesis.given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from(NAMES))
@hypothesis.settings(max_examples=60)
def test_native_changes_span_several_moves(seed: int, distance: int, name: str) -> None:
    if name == "pp":
        return
    fast = native(name)
    boards = list(random_boards(distance + 20, seed))
    before, after = boards[19].fen(), boards[19 + distance].fen()
    for pov in chess.COLORS:
        changed = fast.changed(before, after, pov)
        old, new = (set(fast.active(fen, pov)) for fen in (before, after))
        if changed is not None:
            assert (old | set(changed[0])) - set(changed[1]) == new
            assert not old & set(changed[0])
            assert set(changed[1]) <= old


@pytest.mark.slow
def test_dead_features_never_appear_in_100_000_random_positions() -> None:
    name = SUM + "+move"
    dead, fast = FeatureSet(name).dead, native(name)
    for board in random_boards(100_000, seed=7):
        assert dead.isdisjoint(fast.active(board.fen(), board.turn))


@pytest.mark.parametrize("name", NAMES)
def test_every_feature_describes_itself_differently(name: str) -> None:
    features = FeatureSet(name)
    indices = range(0, features.size, max(1, features.size // 5000))
    assert len({features.describe(index) for index in indices}) == len(indices)


def test_descriptions_read_well() -> None:
    assert FeatureSet("piece").describe(28 * 12) == "piece: e4 pawn own"
    assert FeatureSet("h+move").describe(96 + 12 * 64 + 28) == "move: move e2e4"


def test_relative_sets_refresh_only_when_their_part_of_the_king_moves() -> None:
    board = chess.Board("4k3/8/8/8/8/8/8/4K3 w - - 0 1")
    along_rank, along_file = chess.Move.from_uci("e1d1"), chess.Move.from_uci("e1e2")
    assert FeatureSet("relh").needs_refresh(board, along_rank, chess.WHITE)
    assert not FeatureSet("relh").needs_refresh(board, along_file, chess.WHITE)
    assert not FeatureSet("relv").needs_refresh(board, along_rank, chess.WHITE)
    assert not FeatureSet("kp").needs_refresh(board, along_rank, chess.BLACK)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pieces", "did you mean 'piece'"),
        ("", "unknown feature block"),
        ("piece+", "unknown feature block"),
        ("piece+piece", "twice"),
        ("toppp:0", "toppp:K"),
        ("toppp:99999999999", "toppp:K"),
        ("toppp:x", "toppp:K"),
        ("h+" * 200, "at most"),
    ],
)
def test_wrong_names_are_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        FeatureSet(name)
