"""Ataxx: beside Fairy-Stockfish's rules, and its symmetries."""

import random
import re
from collections import Counter

import numpy as np
import pytest

from zerogames import UserError, get_game


def compare_games(num_games: int, seed: int, blocked: str = "") -> Counter[str]:
    """Play random games with both; return the reasons of the ends."""
    pyffish = pytest.importorskip("pyffish", reason="pyffish is not installed")
    game = get_game(f"ataxx:blocked={blocked}" if blocked else "ataxx")
    chance, reasons = random.Random(seed), Counter[str]()
    for _ in range(num_games):
        state = game.initial_state()
        board = game.format_state(state).split()[0].translate(str.maketrans("xo-", "Pp*"))
        fen = f"{board} w 0 1"
        while state.result is None:
            theirs = set(map(our_name, pyffish.legal_moves("ataxx", fen, [])))
            ours = {
                game.format_action(state, int(action)): int(action)
                for action in state.legal_actions()
            }
            assert set(ours) == theirs, fen
            text = chance.choice(sorted(ours))
            # Mostly clones, else games take long.
            clones = sorted(name for name in ours if len(name) == 2)
            text = chance.choice(clones) if clones and chance.random() < 0.5 else text
            state = state.play(ours[text])
            move = {2: f"P@{text}", 4: text}[len(text)] if text != "pass" else None
            if move is None:
                (move,) = pyffish.legal_moves("ataxx", fen, [])
            fen = pyffish.get_fen("ataxx", fen, [move])
            board = game.format_state(state).split()[0].translate(str.maketrans("xo-", "Pp*"))
            assert fen.split()[0] == board
        reasons[state.end_reason] += 1
        if state.end_reason in ("no moves left", "no pieces left"):
            moves = set(map(our_name, pyffish.legal_moves("ataxx", fen, [])))
            assert moves <= {"pass"}
            assert state.result == np.sign(fen.split()[0].count("P") - fen.split()[0].count("p"))
    return reasons


def our_name(move: str) -> str:
    if move.startswith("P@"):
        return move[2:]
    return "pass" if move[:2] == move[2:] else move


@pytest.mark.parametrize("blocked", ["", "c3+c5+e3+e5"])
def test_random_games_are_the_referees(blocked: str) -> None:
    compare_games(25, 1, blocked)


@pytest.mark.slow
def test_a_thousand_random_games_are_the_referees() -> None:
    reasons = compare_games(1000, 2)
    assert reasons["no moves left"] > 500


def test_one_set_of_blocked_cells_has_one_identity() -> None:
    assert get_game("ataxx:blocked=e5+c3+c3").spec.identity == "ataxx:blocked=c3+e5"
    for wrong in ("a1", "h1", "c", "c3+"):
        with pytest.raises(UserError):
            get_game(f"ataxx:blocked={wrong}").initial_state()


def test_symmetries_turn_jumps_as_they_turn_the_board() -> None:
    game, rng = get_game("ataxx:size=5"), np.random.default_rng(1)
    state = game.initial_state()
    for _ in range(12):
        state = state.play(int(rng.choice(state.legal_actions())))
    planes, legal = state.observe("pieces"), np.zeros(game.spec.action_size, np.float32)
    legal[state.legal_actions()] = 1
    for symmetry in game.symmetries:
        rows = symmetry.planes(planes)[:2, ::-1]
        own, other = ("x", "o") if state.to_play == 0 else ("o", "x")
        text = "/".join(
            "".join(own if a else other if b else "1" for a, b in zip(*row, strict=True))
            for row in zip(*rows, strict=True)
        )
        text = re.sub("1+", lambda empty: str(len(empty[0])), text)
        turned = game.parse_state(f"{text} {own} 0")
        expected = np.zeros_like(legal)
        expected[turned.legal_actions()] = 1
        assert np.array_equal(symmetry.policy(legal), expected), symmetry.name
