"""OpenSpiel's games through the bridge."""

import re
import subprocess
import sys

import numpy as np
import pytest

from zerogames import UserError, get_game, get_plugin, load_net, play_games, search_preset
from zerogames.commands.games import games
from zerogames.game import parse_position, play_actions
from zerogames.testing import check_game

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")

MEMBERS = set(
    """
    amazons antichess breakthrough checkers chess chinese_checkers clobber connect_four crazyhouse
    cursor_go dots_and_boxes go gomoku havannah hex hive lines_of_action mancala mnk nim
    nine_mens_morris othello oware pentago quoridor shogi tic_tac_toe twixt ultimate_tic_tac_toe
    xiangqi y
    """.split()  # noqa: SIM905 (31 quoted names are no easier to read)
)
FEW = (
    "y(board_size=5)",  # planes
    "hex(board_size=4,swap=True)",  # one action more than cells
    "gomoku(size=7)",  # planes in two axes
    "nim",  # numbers only
    "dots_and_boxes",  # a side moves again
)


def bridged(game: str) -> str:
    return f"openspiel:game={game}"


@pytest.mark.parametrize("game", FEW)
def test_some_games_conform(game: str) -> None:
    check_game(get_game(bridged(game)), num_games=2)


@pytest.mark.slow
@pytest.mark.parametrize("identity", get_plugin("openspiel").members())  # type: ignore[misc]
def test_every_game_conforms(identity: str) -> None:
    check_game(get_game(identity), num_games=1)


def test_all_games_of_our_kind_are_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert games(all=True) == 0
    told = re.findall(r"openspiel:game=(\w+)", capsys.readouterr().out)
    assert set(told) >= MEMBERS - {"tic_tac_toe"}, "which is the default and named openspiel"


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("openspiel", "openspiel"),
        ("openspiel:game=tic_tac_toe()", "openspiel"),
        ("openspiel:game=y(board_size=19)", "openspiel:game=y"),
        ("openspiel:game=hex(swap=false,board_size=5)", "openspiel:game=hex(board_size=5)"),
        (
            "openspiel:game=connect_four(rows=5,x_in_row=4,columns=4)",
            "openspiel:game=connect_four(columns=4,rows=5)",
        ),
        (
            "openspiel:game=misere(game=mnk(k=3,m=4,n=3))",
            "openspiel:game=misere(game=mnk(k=3,m=4,n=3))",
        ),
    ],
)
def test_commas_in_brackets_belong_to_the_game_and_defaults_are_left_out(
    text: str, identity: str
) -> None:
    assert get_game(text).spec.identity == identity


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("backgammon", "has chance"),
        ("kuhn_poker", "chance"),
        ("oshi_zumo", "at the same time"),
        ("phantom_ttt", "hides something"),
        ("tiny_hanabi", "has chance"),
        ("chess(chess960=true)", "begins with chance"),
        ("chinese_checkers(players=3)", "3 players"),
        ("conect_four", "did you mean 'connect_four'"),
        ("y(size=5)", "did you mean 'board_size'"),
        ("y(board_size=5", "bracket"),
        ("y(board_size=x)", "Wrong type"),
        ("y(board_size=-1)", "observes"),
        ("y(board_size=0)", "observes"),
        ("havannah(board_size=100000)", "observes"),
        ("go(board_size=25)", "up to 19"),
    ],
)
def test_other_games_are_refused_with_the_reason(game: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        get_game(bridged(game))
    assert "\n" not in str(caught.value)


def test_planes_are_the_movers_tensor_and_the_side_to_move() -> None:
    game = get_game(bridged("gomoku(size=7)"))
    theirs = pyspiel.load_game("gomoku(size=7)").new_initial_state()
    state = game.initial_state()
    assert game.spec.observation_shape == (4, 7, 7)
    for action in (24, 0, 48):
        tensor = np.array(theirs.observation_tensor(theirs.current_player()), np.float32)
        planes = state.observe("openspiel")
        assert np.array_equal(planes[:-1], tensor.reshape(3, 7, 7))
        assert (planes[-1] == theirs.current_player()).all()
        state = state.play(action)
        theirs.apply_action(action)


@pytest.mark.parametrize(
    ("game", "shape"),
    [
        ("connect_four", (4, 6, 7)),
        ("nim", (40, 1, 1)),
        ("gomoku(size=4,dims=3)", (4, 1, 64)),
    ],
)
def test_tensors_become_planes(game: str, shape: tuple[int, int, int]) -> None:
    assert get_game(bridged(game)).spec.observation_shape == shape


@pytest.mark.parametrize("game", ["y(board_size=4)", "nim", "gomoku(size=3,connect=3,dims=3)"])
def test_default_nets_fit_boards_rows_and_numbers(game: str) -> None:
    net = load_net(get_game(bridged(game)).default_net, bridged(game))
    (record,) = play_games(net, 1, search=search_preset("gumbel", simulations=4))
    assert record.result in (1.0, 0.0, -1.0)


def test_the_convolutional_policy_has_a_plane_for_each_move_from_a_cell() -> None:
    game = get_game(bridged("breakthrough(rows=6,columns=5)"))
    places = game.heads.policy_maps["conv"]
    cells = 30
    assert places.planes == game.spec.action_size // cells
    state = game.initial_state()
    for action in map(int, state.legal_actions()):
        text = game.format_action(state, action)  # rows are counted from the top
        cell = (6 - int(text[1])) * 5 + "abcde".index(text[0])
        assert places.index[action] % cells == cell


def test_results_are_the_first_players_and_moves_are_openspiels() -> None:
    game = get_game("openspiel")
    state = parse_position(game, "startpos moves x(0,0) o(1,1) x(0,1) o(2,2)")
    assert state.result is None
    won = state.play(game.parse_action(state, "x(0,2)"))
    assert (won.result, won.end_reason) == (1.0, "returns 1 -1")
    lost = parse_position(game, "startpos moves x(0,0) o(1,1) x(0,1) o(0,2) x(2,2) o(2,0)")
    assert lost.result == -1.0
    assert game.parse_state(game.format_state(lost)).result == -1.0


def test_spaces_in_moves_are_underscores() -> None:
    game = get_game(bridged("go(board_size=5)"))
    state = game.initial_state()
    assert game.format_action(state, game.parse_action(state, "B_a1")) == "B_a1"


def test_margins_count_by_their_sign_and_it_says_so() -> None:
    with pytest.warns(UserWarning, match="from -4 to 4 count by their sign"):
        game = get_game(bridged("dots_and_boxes(utility_margin=true)"))
    rng = np.random.default_rng(0)
    for _ in range(10):
        state = game.initial_state()
        while state.result is None:
            state = play_actions(state, [int(rng.choice(state.legal_actions()))])
        first, second = map(float, state.end_reason.removeprefix("returns ").split())
        assert first == -second
        assert state.result == np.sign(first)


def test_a_side_that_moves_again_stays_to_play() -> None:
    state = get_game(bridged("dots_and_boxes(num_rows=1,num_cols=1)")).initial_state()
    movers = []
    while state.result is None:
        movers.append(state.to_play)
        state = state.play(int(state.legal_actions()[0]))
    assert movers == [0, 1, 0, 1]
    assert state.result == -1.0


def test_pictures_are_openspiels_text() -> None:
    game = get_game(bridged("twixt"))
    state = game.initial_state()
    picture = game.render(state)
    assert "\x1b" in picture.ansi()
    assert "\x1b" not in picture.ansi(colour=False)
    assert picture.rgb().min() < 128, "something is drawn"
    assert "&lt;" not in picture.svg()


def test_without_openspiel_the_game_is_not_listed_and_says_what_is_missing() -> None:
    program = (
        "import sys; sys.modules['pyspiel'] = None\n"
        "import importlib.util as util; real = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'pyspiel' else real(name, *rest)\n"
        "from zerogames.cli import main\n"
        "assert 'openspiel' not in __import__('zerogames').game_names()\n"
        "raise SystemExit(main(['games', 'openspiel']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr == "error: OpenSpiel is missing: pip install 'zerogames[openspiel]'\n"
