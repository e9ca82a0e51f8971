import subprocess
import sys

import numpy as np
import pytest
from go_samples import own_games
from zerogames_go import Go, GoOptions
from zerogames_go import game as plugin

import zerogames
from zerogames.game import Game
from zerogames.testing import check_game


@pytest.mark.parametrize(
    "identity",
    ["go:size=2", "go:size=3,rules=aga", "go:size=7,rules=japanese", "go:size=7,handicap=4"],
)
def test_conforms(identity: str) -> None:
    check_game(zerogames.get_game(identity), num_games=2)


def test_large_board_conforms() -> None:
    check_game(zerogames.get_game("go:size=25,max-plies=60"), num_games=1)


def test_is_a_plugin() -> None:
    assert zerogames.get_plugin("go") is plugin
    game = plugin.create(GoOptions(size=9))
    assert isinstance(game, Go)
    typed: Game = game
    assert typed.spec.action_size == 82
    assert list(game.encodings) == ["golois-21", "leela-18", "katago-v7"]
    assert game.spec.observation_shape == (21, 9, 9)


def test_patterns_have_nine_taps_and_no_direction() -> None:
    for name, pattern in zerogames.get_game("go:size=9").patterns.items():
        assert len(pattern.offsets) == 9, name
        for turns in range(4):
            assert np.array_equal(np.rot90(pattern.mask, turns), pattern.mask), name
        assert np.array_equal(pattern.mask.T, pattern.mask), name


def test_pass_has_no_place_on_the_policy_plane() -> None:
    game = zerogames.get_game("go:size=9")
    index = game.heads.policy_maps["conv"].index
    assert index.tolist() == [*range(81), -1]


def test_nets_of_the_papers_and_of_the_general_form() -> None:
    game = zerogames.get_game("go")
    assert game.parse_net("mobile.small.conv.avg.bin").first_player_plane == 0
    assert game.parse_net("a0.small+leela-18").first_player_plane == 16
    assert game.parse_net("mob_cdk_4x48").stages[0].kernel == "cdk"
    assert game.parse_net(game.default_net).name == game.default_net
    with pytest.raises(zerogames.UserError):
        game.parse_net("mobile.small.x")


def test_picture_has_row_one_at_the_bottom() -> None:
    game = zerogames.get_game("go:size=9")
    state = game.initial_state().play(0)
    picture = game.render(state, last_action=0)
    lines = picture.ansi(colour=False).splitlines()
    assert lines[8].split() == ["1", "X", *"........"]
    assert lines[4].split() == ["5", *"....+...."]
    assert lines[9].split() == [*"ABCDEFGHJ"]
    assert lines[10] == "White to play"
    over = state.play(81).play(81)
    assert game.render(over).ansi(colour=False).endswith("B+73.5 (two passes)")
    assert "<svg" in picture.svg()


def test_ownership_and_score_agree() -> None:
    for record in own_games():
        game = zerogames.get_game(record.game)
        assert isinstance(game, Go)
        end = record.final_state(game)
        owned = game.ownership(end)
        assert owned.dtype == np.int8
        assert int(owned.sum()) - game.options.komi == game.area_score(end)
        stones = end.board()  # type: ignore[attr-defined]
        assert np.array_equal(owned[stones != 0], stones[stones != 0])


LEVEL_PROGRAM = """
import sys, hashlib
from zerogames.native import limit_level
limit_level(sys.argv[1])
import numpy as np, zerogames
from zerogames_go import _native
digest = hashlib.sha256()
for identity in ("go:size=5", "go:size=9,rules=japanese", "go:size=13", "go:max-plies=260"):
    state = zerogames.get_game(identity).initial_state()
    rng = np.random.default_rng(4)
    while state.result is None:
        legal = state.legal_actions()
        digest.update(legal.tobytes())
        digest.update(f"{state.position_key} {state.observation_key} {state.score}".encode())
        if state.plies % 9 == 0:
            for encoding in ("golois-21", "leela-18"):
                digest.update(state.observe(encoding).tobytes() + state.pack(encoding))
        state = state.play(int(rng.choice(legal)))
print(_native.__name__, digest.hexdigest())
"""


def test_cpu_levels_agree() -> None:
    found = {}
    for level in ("baseline", "v3"):
        done = subprocess.run(
            [sys.executable, "-c", LEVEL_PROGRAM, level], check=True, capture_output=True, text=True
        )
        name, found[level] = done.stdout.split()
        if not name.endswith(level):
            pytest.skip(f"this CPU does not run level {level}")
    assert found["baseline"] == found["v3"]
