import numpy as np
import pytest
from go_samples import middle_game, own_games, shared_games
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_ladder import LOST, UNSETTLED, PlainReader
from zerogames_go import _native

import zerogames
from zerogames.game import State

# Name, board (row 9 on top, X Black, O White), lost stones, unsettled stones.
POSITIONS = [
    (
        "runs into the open corner",
        "........./..O....../.OXO...../.O......./........./........./........./........./.........",
        "C7",
        "",
    ),
    (
        "breaker on the path",
        "........./..O....../.OXO...../.O......./........./........./......X../........./.........",
        "",
        "C7",
    ),
    (
        "two liberties, the ladder works",
        "........./..O....../.OX....../.O......./........./........./........./........./.........",
        "",
        "C7",
    ),
    (
        "two liberties, the ladder is broken",
        "........./..O....../.OX....../.O......./........./......X../.....XX../........./.........",
        "",
        "",
    ),
    (
        "edge crawl",
        "........./........./........./........./........./........./........./...OOOOO./...OX....",
        "E1",
        "",
    ),
    (
        "capture out",
        "........./.XO....../.OXO...../.X......./........./........./........./........./.........",
        "",
        "B7 C7",
    ),
    (
        "corner with two liberties",
        "........./........./........./........./........./........./OO......./..O....../XXO......",
        "A1 B1",
        "",
    ),
    (
        "no escape along the edge",
        "........./........./........./O......../XO......./.O......./........./........./.........",
        "A5",
        "",
    ),
    (
        "a ko decides",
        "........./........./........./........./........./........./.OO....../O.XO...../.XO.O....",
        "C2",
        "B1 C1",
    ),
    (
        "shortage by a throw-in",
        "........./........./........./........./........./........./....OO.../...OXXO../..XOX.O..",
        "E2 E1 F2",
        "C1",
    ),
]


def from_diagram(text: str) -> _native.Go:
    rows = text.split("/")
    stones = {"X": "", "O": ""}
    for row, line in enumerate(rows):
        for column, stone in enumerate(line):
            if stone in stones:
                stones[stone] += f"[{chr(97 + column)}{chr(97 + row)}]"
    setup = "".join(f"{name}{stones[s]}" for name, s in (("AB", "X"), ("AW", "O")) if stones[s])
    return _native.Go.from_sgf(f"(;SZ[{len(rows)}]{setup})", len(rows))


def labels(state: State, **limits: int) -> dict[int, int]:
    found = state.ladders(**limits).ravel()  # type: ignore[attr-defined]
    return {point: int(found[point]) for point in np.flatnonzero(found).tolist()}


def plain_labels(state: State) -> dict[int, int]:
    board = state.board()  # type: ignore[attr-defined]
    flat = board.ravel()
    stones = {point: int(flat[point] < 0) for point in np.flatnonzero(flat).tolist()}
    return PlainReader(len(board), stones).labels()


@pytest.mark.parametrize(
    ("board", "lost", "unsettled"), [p[1:] for p in POSITIONS], ids=[p[0] for p in POSITIONS]
)
def test_known_positions(board: str, lost: str, unsettled: str) -> None:
    game = zerogames.get_game("go:size=9")
    state = from_diagram(board)
    found = labels(state)
    names = {
        label: {game.format_action(state, p) for p, has in found.items() if has == label}
        for label in (LOST, UNSETTLED)
    }
    assert names == {LOST: set(lost.split()), UNSETTLED: set(unsettled.split())}
    assert plain_labels(state) == found


# The defender saves the chain far away: by rescuing another chain that the attacker would capture.
FAR_RESCUES = [
    (
        "(;SZ[19]AB[dp][qp][ig][jg][lg][bf][hf][jf][kf][lf][qf][ce][de][ee][he][je][le][me][qe][b"
        "d][hd][id][md][qd][bc][cc][ec][gc][nc][oc][pc][cb][eb][fb][gb][hb][ib][ob][da][fa][ia][j"
        "a][ka][la][na][oa]AW[op][jh][lh][mh][kg][mg][cf][df][mf][be][fe][ke][ne][pe][cd][dd][ed]"
        "[fd][gd][jd][kd][ld][nd][pd][dc][fc][hc][ic][jc][kc][lc][mc][bb][db][jb][lb][nb][aa][ca]"
        "[ha][ma]PL[B])"
    ),
    (
        "(;SZ[9]AB[bh][ch][dh][hh][ih][cg][dg][eg][hg][cf][df][hf][ae][be][ie][cd][fd][id][cc][dc"
        "][fc][ab][bb][db][eb][ba][ca][da][ea]AW[ai][ci][ei][fi][hi][ah][eh][gh][bg][gg][ig][af]["
        "bf][de][ee][ge][ad][bd][bc][ec][gc][hc][ic][gb][ib][fa][ga][ha][ia]PL[B])"
    ),
    (
        "(;SZ[9]AB[ai][bi][ci][di][ei][gi][bh][ch][dh][gh][hh][ih][ag][cg][hg][af][cf][hf][if][ae"
        "][be][ce][de][fe][he][dd][ed][fd][gd][dc][ec][gc][ic][db][hb][ib][ea][ga][ha][ia]AW[fi]["
        "ii][eh][fh][dg][fg][gg][bf][df][ef][ff][gf][ee][ge][ie][ad][bd][cd][hd][ac][bc][cc][ab]["
        "cb][fb][aa][ba][da][fa]PL[B])"
    ),
]


@pytest.mark.parametrize("text", FAR_RESCUES)
def test_a_rescue_elsewhere_is_found(text: str) -> None:
    size = int(text[5 : text.index("]")])
    state = _native.Go.from_sgf(text, size)
    assert labels(state) == plain_labels(state)


def random_state(size: int, plies: int, seed: int) -> State:
    rng = np.random.default_rng(seed)
    state = zerogames.get_game(f"go:size={size},rules=chinese").initial_state()
    for _ in range(plies):
        legal = state.legal_actions()
        if len(legal) < 2:
            break
        state = state.play(int(rng.choice(legal[:-1])))
    return state


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 7), st.integers(0, 60), st.integers(0, 2**32))
def test_random_positions_equal_the_definition(size: int, plies: int, seed: int) -> None:
    state = random_state(size, plies, seed)
    assert labels(state) == plain_labels(state)


def test_own_games_equal_the_definition() -> None:
    rng = np.random.default_rng(3)
    counts = {LOST: 0, UNSETTLED: 0}
    for record in own_games():
        for _ in range(2):
            state = middle_game(record, rng)
            found = labels(state)
            assert found == plain_labels(state), str(state)
            for label in found.values():
                counts[label] += 1
    assert min(counts.values()) > 5


def test_real_19x19_games_equal_the_definition() -> None:
    compare_with_definition("elf-ladder-suite", positions=8, seed=5)


@pytest.mark.slow
def test_many_real_games_equal_the_definition() -> None:
    compare_with_definition("elf-ladder-suite", positions=100, seed=6)
    compare_with_definition("gnugo-regression-games", positions=300, seed=7)


def compare_with_definition(folder: str, *, positions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    games = list(shared_games(folder))
    for index in rng.choice(len(games), positions, replace=False):
        state = middle_game(games[index], rng)
        assert labels(state) == plain_labels(state), str(state)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_many_random_positions_equal_the_definition(seed: int) -> None:
    for size, plies in ((5, 18), (7, 35), (9, 60), (9, 90), (11, 100)):
        state = random_state(size, plies, seed)
        assert labels(state) == plain_labels(state), str(state)


def test_a_question_that_takes_too_long_is_answered_with_not_captured() -> None:
    state = from_diagram(POSITIONS[0][1])
    (stone,) = labels(state)
    assert labels(state) == {stone: LOST}
    assert labels(state, depth=3) == {stone: UNSETTLED}
    assert labels(state, nodes=3) == {stone: UNSETTLED}
    planes = state.observe("golois-21:ladder-depth=3")
    assert planes[1:5].sum() == 1
    assert planes[3].sum() + planes[4].sum() == 1


def test_labels_do_not_depend_on_the_turn() -> None:
    for _, board, _, _ in POSITIONS:
        state = from_diagram(board)
        assert labels(state) == labels(state.play(81))
