import numpy as np
import pytest
from go_samples import own_games, shared_games
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_go import PlainGo, area_score
from zerogames_go import Go

import zerogames
from zerogames import UserError
from zerogames.game import State, parse_position


def go(identity: str) -> Go:
    game = zerogames.get_game(identity)
    assert isinstance(game, Go)
    return game


def diagram(rows: str, *, to_play: str = "B", komi: float = 0) -> str:
    """A position from rows, the top one first: X Black, O White."""
    lines = rows.split()
    points = {"X": "", "O": ""}
    for row, line in enumerate(lines):
        for column, stone in enumerate(line):
            if stone in points:
                points[stone] += f"[{chr(97 + column)}{chr(97 + row)}]"
    black = f"AB{points['X']}" if points["X"] else ""
    white = f"AW{points['O']}" if points["O"] else ""
    return f"(;SZ[{len(lines)}]KM[{komi}]{black}{white}PL[{to_play}])"


def plays(game: Go, state: State, text: str) -> State:
    for move in text.split():
        state = state.play(game.parse_action(state, move))
    return state


def legal(game: Go, state: State) -> set[str]:
    return {game.format_action(state, action) for action in state.legal_actions().tolist()}


def rows(state: State) -> list[str]:
    board = state.board()[::-1]  # type: ignore[attr-defined]
    return ["".join({1: "X", -1: "O", 0: "."}[int(stone)] for stone in row) for row in board]


KO = """
.....
.XO..
XO.O.
.XO..
.....
"""


def test_ko_is_banned_for_one_move_and_free_after_a_threat() -> None:
    for rules in ("tromp-taylor", "chinese", "japanese", "aga", "new-zealand"):
        game = go(f"go:size=5,rules={rules}")
        state = plays(game, game.parse_state(diagram(KO)), "C3")
        assert rows(state)[2] == "X.XO."
        assert "B3" not in legal(game, state)
        with pytest.raises(UserError, match="B3"):
            game.parse_action(state, "B3")
        later = plays(game, state, "E1 E5")
        assert "B3" in legal(game, later)
        assert rows(plays(game, later, "B3"))[2] == "XO.O."


def test_a_snapback_is_no_ko() -> None:
    game = go("go:size=5,rules=japanese")
    state = game.parse_state(
        diagram(
            """
            .....
            .....
            OOO..
            XXO..
            .XO..
            """,
            to_play="W",
        )
    )
    after = plays(game, state, "A1")
    assert rows(after)[3:] == ["..O..", "O.O.."]


def plays_all_but_last(game: Go, start: str, moves: str, to_play: str) -> tuple[State, str]:
    *first, last = moves.split()
    return plays(game, game.parse_state(diagram(start, to_play=to_play)), " ".join(first)), last


def test_sending_two_returning_one_is_situationally_new() -> None:
    # White adds A1, Black takes two stones with C1, White retakes it with B1: the first board
    # again, but now Black is to move.
    start = """
    .....
    .....
    .....
    XXO..
    .O.O.
    """
    for ko, allowed in (("positional", False), ("situational", True), ("simple", True)):
        game = go(f"go:size=5,ko={ko},suicide=false")
        state, last = plays_all_but_last(game, start, "A1 C1 B1", "W")
        assert rows(state)[4] == "..XO."
        assert (last in legal(game, state)) == allowed, ko
    assert rows(plays(game, state, last)) == start.split()


def test_triple_ko_repeats_after_six_moves() -> None:
    start = """
    .XO......
    XO.O.....
    .XO......
    .XO......
    X.XO.....
    .XO......
    .XO......
    XO.O.....
    .XO......
    """
    for ko, allowed in (("positional", False), ("situational", False), ("simple", True)):
        game = go(f"go:size=9,ko={ko},suicide=false")
        state, last = plays_all_but_last(game, start, "C8 B5 C2 B8 C5 B2", "B")
        assert (last in legal(game, state)) == allowed, ko
    assert rows(plays(game, state, last)) == start.split()


def test_single_stone_suicide_repeats_the_board() -> None:
    surrounded = """
    .O...
    O....
    .....
    .....
    .....
    """
    expected = {
        "tromp-taylor": False,  # the board does not change
        "chinese": False,
        "new-zealand": True,  # the board does not change, but the turn does
        "japanese": False,
        "japanese,suicide=true": True,  # nothing forbids it
    }
    for rules, allowed in expected.items():
        game = go(f"go:size=5,rules={rules}")
        state = game.parse_state(diagram(surrounded))
        assert ("A5" in legal(game, state)) == allowed, rules
        if allowed:
            after = plays(game, state, "A5")
            assert rows(after) == rows(state)
            assert after.to_play == 1


def test_multi_stone_suicide_takes_the_chain_away() -> None:
    surrounded = """
    .XO..
    OO...
    .....
    .....
    .....
    """
    forbidden = go("go:size=5,rules=chinese")
    assert "A5" not in legal(forbidden, forbidden.parse_state(diagram(surrounded)))
    game = go("go:size=5")
    after = plays(game, game.parse_state(diagram(surrounded)), "A5")
    assert rows(after)[:2] == ["..O..", "OO..."]
    # Putting B5 back would give the first board again.
    assert "B5" not in legal(game, plays(game, after, "pass"))


def test_a_capture_is_no_suicide() -> None:
    game = go("go:size=5,rules=chinese")
    state = game.parse_state(
        diagram(
            """
            .OX..
            OX...
            X....
            .....
            .....
            """
        )
    )
    after = plays(game, state, "A5")
    assert rows(after)[:3] == ["X.X..", ".X...", "X...."]


def test_seki_scores_nothing_for_shared_liberties() -> None:
    game = go("go:size=5,komi=0")
    state = game.parse_state(
        diagram(
            """
            .XO.X
            XXOXX
            .XO.X
            XXOXX
            XXOX.
            """
        )
    )
    # Column D is shared; every other empty point is Black's.
    assert game.area_score(state) == area_score(5, stones_of(state))
    assert game.ownership(state)[4].tolist() == [1, 1, -1, 0, 1]


def stones_of(state: State) -> dict[int, int]:
    board = state.board().ravel()  # type: ignore[attr-defined]
    return {point: int(board[point] < 0) for point in np.flatnonzero(board).tolist()}


def test_two_passes_end_and_score_every_stone_where_it_stands() -> None:
    game = go("go:size=5,komi=0.5")
    state = plays(game, game.initial_state(), "C3 pass")
    assert state.result is None
    state = plays(game, state, "pass")
    assert (state.result, state.end_reason) == (1.0, "two passes")
    assert game.area_score(state) == 24.5
    assert len(state.legal_actions()) == 0
    assert not state.is_legal(25)
    assert plays(game, game.initial_state(), "pass pass").result == -1.0
    assert plays(go("go:size=5,komi=0"), game.initial_state(), "A1 B2 pass pass").result is not None


def test_equal_area_is_a_draw() -> None:
    game = go("go:size=5,komi=0")
    assert plays(game, game.initial_state(), "pass pass").result == 0.0


def test_move_limit_ends_an_endless_game() -> None:
    game = go("go:size=5,komi=0,max-plies=4")
    assert game.spec.max_plies == 4
    state = plays(game, game.initial_state(), "A1 B2 C3 D4")
    assert state.end_reason == "move limit"
    assert state.result == 0.0
    assert go("go:size=9").spec.max_plies == 262


def test_handicap_stones_and_white_begins() -> None:
    game = go("go:size=19,handicap=4")
    state = game.initial_state()
    assert state.to_play == 1
    points = {game.format_action(state, p) for p in stones_of(state)}
    assert points == {"D4", "Q16", "D16", "Q4"}
    for identity, message in (
        ("go:size=5,handicap=2", "no fixed handicap"),
        ("go:size=8,handicap=5", "2 to 4"),
        ("go:handicap=1", "0 or 2 to 9"),
        ("go:handicap=10", "handicap"),
    ):
        with pytest.raises(UserError, match=message):
            go(identity)


@pytest.mark.parametrize(
    ("identity", "canonical"),
    [
        ("go:size=19,komi=7.5,rules=tromp-taylor", "go"),
        ("go:size=9,komi=7", "go:size=9,komi=7"),
        ("go:ko=positional,suicide=true", "go"),
        ("go:rules=chinese,suicide=false,ko=simple", "go:rules=chinese,ko=simple"),
        ("go:suicide=false", "go:suicide=false"),
    ],
)
def test_identity_names_what_differs_only(identity: str, canonical: str) -> None:
    assert go(identity).spec.identity == canonical


def test_bad_options_are_named() -> None:
    for identity in ("go:size=1", "go:size=26", "go:komi=nan", "go:rules=french", "go:ko=super"):
        with pytest.raises(UserError, match=identity.partition(":")[2].partition("=")[0]):
            go(identity)


def test_points_skip_the_letter_i() -> None:
    game = go("go")
    state = game.initial_state()
    assert game.parse_action(state, "j1") == 8
    assert game.format_action(state, 8) == "J1"
    assert game.parse_action(state, "Q16") == 300
    assert game.parse_action(state, "PASS") == 361
    for text in ("i5", "A0", "A20", "U1", "A", "1A", "A١", "pas", "A-1", "A1 "):  # noqa: RUF001
        with pytest.raises(UserError, match="not a move"):
            game.parse_action(state, text)
    assert game.parse_action(state.play(300), "D4") == 60


def test_positions_read_back_with_ko_passes_and_komi() -> None:
    game = go("go:size=5")
    state = plays(game, game.parse_state(diagram(KO, komi=3.5)), "C3")
    text = game.format_state(state)
    assert "XK[bc]" in text
    again = game.parse_state(text)
    assert again.legal_actions().tolist() == state.legal_actions().tolist()
    assert again.rules.komi == 3.5  # type: ignore[attr-defined]
    passed = plays(game, state, "pass")
    again = game.parse_state(game.format_state(passed))
    assert (again.to_play, again.passes) == (0, 1)  # type: ignore[attr-defined]
    over = game.parse_state(game.format_state(plays(game, passed, "pass")))
    assert over.end_reason == "two passes"
    moved = parse_position(game, "(;SZ[5];B[aa];W[bb]) moves C3")
    assert (moved.plies, rows(moved)[:3]) == (3, ["X....", ".O...", "..X.."])
    for text, message in (
        ("(;SZ[9])", "size 9"),
        ("(;SZ[5]AB[aa]AW[aa]PL[X])", "PL"),
        ("(;SZ[5]AB[zz])", "'zz'"),
        ("(;SZ[5]AB[aa][ba]AW[ab][bb][ca])", "no liberty"),
        ("(;SZ[5])(;SZ[5])", "one SGF tree"),
        ("(;SZ[5]KM[x])", "komi"),
        ("(;SZ[5];B[aa];W[aa])", "a stone is there"),
        ("startpos", "SGF"),
    ):
        with pytest.raises(UserError, match=message):
            game.parse_state(text)


@settings(max_examples=60, deadline=None)
@given(
    size=st.sampled_from([2, 3, 4, 5, 7]),
    ko=st.sampled_from(["positional", "situational", "simple"]),
    suicide=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_random_games_equal_the_plain_rules(size: int, ko: str, suicide: bool, seed: int) -> None:
    compare_random_game(size, ko, suicide, seed, most_plies=40 + 2 * size)


@pytest.mark.parametrize(("size", "plies"), [(9, 130), (13, 60), (19, 40), (25, 30)])
def test_long_random_games_equal_the_plain_rules(size: int, plies: int) -> None:
    compare_random_game(size, "positional", True, 7, most_plies=plies)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_many_random_games_equal_the_plain_rules(seed: int) -> None:
    size = (2, 3, 4, 5, 6, 9)[seed % 6]
    ko = ("positional", "situational", "simple")[seed % 3]
    compare_random_game(size, ko, seed % 2 == 0, seed, most_plies=300)


def compare_random_game(size: int, ko: str, suicide: bool, seed: int, *, most_plies: int) -> None:
    rng = np.random.default_rng(seed)
    game = go(f"go:size={size},ko={ko},suicide={str(suicide).lower()},komi=0")
    state, plain = game.initial_state(), PlainGo(size, ko, suicide)
    for _ in range(min(most_plies, game.spec.max_plies)):
        legal = plain.legal_actions()
        assert state.legal_actions().tolist() == legal
        assert stones_of(state) == plain.stones
        assert state.to_play == plain.to_play or not legal
        assert game.area_score(state) == area_score(size, plain.stones)
        if not legal:
            assert state.end_reason == "two passes"
            break
        # Passes are made rare: they end small games before anything is repeated.
        board_moves = legal[:-1] if rng.random() < 0.9 and len(legal) > 1 else legal
        action = int(rng.choice(board_moves))
        state = state.play(action)
        plain.play(action)


def test_superko_is_exact_in_long_games_on_a_tiny_board() -> None:
    """On 2x2 nearly every move repeats something; the plain rules remember every board."""
    for seed in range(20):
        compare_random_game(2, "positional", True, seed, most_plies=100)


def test_final_scores_are_those_of_the_records() -> None:
    scored = 0
    for record in own_games()[:6]:
        scored += check_final_score(record)
    assert scored == 6


def test_final_scores_of_engine_games_are_the_strict_area() -> None:
    games = list(shared_games("engine-games-9x9"))
    assert len(games) == 29
    assert sum(map(check_final_score, games)) == 29


def check_final_score(record: zerogames.data.GameRecord) -> bool:
    game = go(record.game)
    end = record.final_state(game)
    lead = game.area_score(end)
    text = "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"
    assert text == record.tags["RE"]
    assert end.end_reason == "two passes"
    assert end.result == record.result
    return True


def test_keys_tell_positions_apart() -> None:
    game = go("go:size=5")
    start = game.initial_state()
    one = plays(game, start, "A1 B2 C3")
    other = plays(game, start, "C3 B2 A1")
    assert one.position_key == other.position_key  # the same board
    assert one.observation_key != other.observation_key  # by other ways
    assert plays(game, start, "pass").position_key == start.position_key
    assert plays(game, start, "pass").observation_key != start.observation_key
    situational = go("go:size=5,ko=situational")
    first = situational.initial_state()
    assert plays(situational, first, "pass").position_key != first.position_key
    assert go("go:size=5,komi=7").initial_state().observation_key != start.observation_key
    taken = plays(game, game.parse_state(diagram(KO)), "C3")
    bare = game.parse_state(game.format_state(taken).replace("XK[bc]", ""))
    free = game.parse_state(game.format_state(taken))
    assert bare.observation_key != free.observation_key  # the ko is banned in one only


@pytest.mark.parametrize(
    "options",
    [
        "size=5",
        "size=6,ko=simple",
        "size=6,ko=situational",
        "size=5,suicide=false",
        "size=9",
        "size=12",
        "size=20",
    ],
)
def test_legal_actions_are_all_that_are_legal(options: str) -> None:
    """The list looks at few chains, each action at all around it."""
    game, rng = zerogames.get_game(f"go:{options}"), np.random.default_rng(7)
    for _ in range(1 if game.spec.action_size > 100 else 8):
        state = game.initial_state()
        while state.result is None:
            legal = state.legal_actions().tolist()
            assert legal == [a for a in range(game.spec.action_size) if state.is_legal(a)]
            state = state.play(int(rng.choice(legal)))
