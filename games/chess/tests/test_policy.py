import hashlib

import numpy as np
import pytest
from zerogames_chess import _native

import zerogames

NAMES = _native.action_names()


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_1858_moves_are_lc0s() -> None:
    joined = "\n".join(NAMES)
    assert sha256(joined) == "4a901f49851725496e39e34648dd58f240950fa6b72a0bbf6b2816b9af767cc7"
    assert (
        sha256(joined + "\n") == "eb2483cf8f53bb000dd6ca437c4ecd383b391bb5fee468b6c30f7f167fb591c5"
    )


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("a1b1", 0),
        ("e1a1", 97),
        ("e1c1", 99),
        ("e1g1", 102),
        ("e1h1", 103),
        ("g1f3", 159),
        ("e2e4", 322),
        ("a7a8", 1401),
        ("h8g8", 1791),
        ("a7a8q", 1792),
        ("a7b8b", 1797),
        ("h7h8b", 1857),
    ],
)
def test_spot_values(name: str, action: int) -> None:
    assert NAMES[action] == name


def test_maps_of_the_convolutional_and_attention_heads() -> None:
    conv = _native.conv_policy_map()
    attention = _native.attention_policy_map()
    assert conv.shape == (73 * 64,)
    assert attention.shape == (64 * 64 + 8 * 24,)
    assert (
        sha256(",".join(map(str, conv)))
        == "30ac7605dc32bed38767087a4db502df7d48c307aa0fc98daa0d3a658e7f315c"
    )
    assert (
        sha256(",".join(map(str, attention)))
        == "c69dbb115e4d7549477392e7a2ab6baccc330cc03da6f143e18c23f0e8b584d3"
    )


def test_the_policy_map_gathers_every_action_from_its_plane() -> None:
    heads = zerogames.get_game("chess").heads
    for kind, planes, meaning in (
        ("conv", 80, _native.conv_policy_map()),
        ("attention", 67, _native.attention_policy_map()),
    ):
        policy_map = heads.policy_maps[kind]
        assert policy_map.planes == planes
        assert np.array_equal(meaning[policy_map.index], np.arange(1858))


@pytest.mark.parametrize(
    ("fen", "uci", "action"),
    [
        # Castling is the king taking its rook, for both sides.
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1", 103),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1c1", 97),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8g8", 103),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8c8", 97),
        # A rook that slides along the same squares.
        ("3k4/8/8/8/8/8/8/K3R3 w - - 0 1", "e1g1", 102),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8q", 1792),
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8n", 1401),
        ("k7/8/8/8/8/8/p6K/8 b - - 0 1", "a2a1q", 1792),
        ("k7/8/8/8/8/8/p6K/8 b - - 0 1", "a2a1n", 1401),
    ],
)
def test_special_moves(fen: str, uci: str, action: int) -> None:
    state = _native.State.from_fen(fen)
    assert state.parse_uci(uci) == action
    assert state.uci(action) == uci
    assert action in state.legal_actions()


def test_castling_may_be_written_king_takes_rook() -> None:
    state = _native.State.from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    assert state.parse_uci("e1h1") == state.parse_uci("e1g1")
    in_960 = _native.State.from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", True)
    assert in_960.uci(103) == "e1h1"
    assert in_960.parse_uci("e1h1") == 103
    with pytest.raises(zerogames.UserError, match="not legal"):
        in_960.parse_uci("e1g1")
