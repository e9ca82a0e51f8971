import subprocess
import sys

import numpy as np
import pytest
import torch
from zerogames_chess import _native
from zerogames_kernels import native

import zerogames
from zerogames.nets import build_model
from zerogames.testing import check_game

GAME = zerogames.get_game("chess")


@pytest.mark.parametrize("identity", ["chess", "chess:variant=960", "chess:variant=960,start=1"])
def test_conforms(identity: str) -> None:
    check_game(zerogames.get_game(identity), num_games=3)


def test_nets_with_every_policy_head_can_be_built() -> None:
    for name in (GAME.default_net, "res_krb_1x12+conv", "res_rb_1x8+attention"):
        model = build_model(GAME.parse_net(name), GAME).eval()
        planes = torch.from_numpy(GAME.initial_state().observe("lc0-classic"))[None]
        assert model(planes).policy_logits.shape == (1, 1858)


def test_identities() -> None:
    assert zerogames.get_game("chess:variant=standard").spec.identity == "chess"
    game = zerogames.get_game("chess:variant=960,start=0")
    assert game.spec.identity == "chess:variant=960,start=0"
    assert str(game.initial_state()).startswith("bbqnnrkr/pppppppp/8/")
    usual = zerogames.get_game("chess:variant=960").initial_state()
    assert str(usual) == str(GAME.initial_state())


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        ("chess:variant=961", "960"),
        ("chess:variant=960,start=960", "959"),
        ("chess:start=4", "variant=960"),
        ("chess:varant=960", "did you mean 'variant'"),
    ],
)
def test_wrong_options_say_what_is_right(identity: str, message: str) -> None:
    with pytest.raises(zerogames.UserError, match=message):
        zerogames.get_game(identity)


def test_patterns_are_the_moves_of_the_pieces() -> None:
    patterns = GAME.patterns
    assert list(patterns) == ["k", "r", "b"]
    for letter, steps in {
        "k": {(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)},
        "r": {(a, 0) for a in (-2, -1, 1, 2)} | {(0, a) for a in (-2, -1, 1, 2)},
        "b": {(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) == abs(b)},
    }.items():
        assert set(patterns[letter].offsets) == steps | {(0, 0)}


def test_the_picture_shows_pieces_last_move_and_check() -> None:
    state = zerogames.parse_position(GAME, "moves f2f3 e7e5 g2g4 d8h4")
    picture = GAME.render(state, last_action=_native.action_names().index("d1h5"))  # mover's view
    lines = picture.ansi(colour=False).splitlines()
    assert lines[0] == "8 r n b . k b n r"
    assert lines[4] == "4 . . . . . . P q"
    assert lines[-1] == "checkmate"
    assert "♛" in picture.ansi()
    svg = picture.svg()
    assert "check" in svg
    assert "lastmove d8" in svg
    assert "lastmove h4" in svg
    plain = GAME.render(state).rgb()
    marked = picture.rgb()
    assert plain.shape == marked.shape
    assert not np.array_equal(plain, marked)


TRANSCRIPT = """
import sys, hashlib, random
from zerogames.native import limit_level
limit_level(sys.argv[1])
from zerogames_chess import _native
digest = hashlib.sha256()
rng = random.Random(11)
for number in range(40):
    fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
    state = _native.State.from_fen(fen) if number % 2 else _native.State()
    while state.result is None:
        actions = state.legal_actions()
        digest.update(actions.tobytes() + state.observe("lc0-classic").tobytes())
        digest.update(f"{state.fen} {state.observation_key} {state.perft(2)}".encode())
        state = state.play(int(rng.choice(actions)))
    digest.update(state.end_reason.encode())
print(_native.__name__.rpartition("_")[2], digest.hexdigest())
"""


def test_levels_agree() -> None:
    if native.cpu_level() == "baseline":
        pytest.skip("this CPU has only the baseline level")
    printed = [
        subprocess.run(
            [sys.executable, "-c", TRANSCRIPT, level], check=True, capture_output=True, text=True
        ).stdout.split()
        for level in ("baseline", "v3")
    ]
    assert [level for level, _ in printed] == ["baseline", "v3"]
    assert printed[0][1] == printed[1][1]


def test_copies_are_independent() -> None:
    state = zerogames.parse_position(GAME, "moves e2e4")
    following = state.play(322)
    assert str(state) != str(following)
    assert state.plies == 1
    assert following.plies == 2
