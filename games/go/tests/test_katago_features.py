import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from go_samples import HERE, position, shared_games
from plain_katago import PASS, PlainKataGo, ladders

import zerogames
from zerogames import UserError
from zerogames.data import GameRecord
from zerogames.game import Game, State

KATAGO = HERE.parents[2].parent / "shared" / "data" / "katago"
FRIENDLY = ("chinese", "aga", "new-zealand")


@cache
def reference() -> list[dict[str, Any]]:
    """The positions that KataGo answered."""
    path = KATAGO / "reference.json"
    if not path.exists():
        pytest.skip("no ../shared/data/katago beside the repository")
    found: list[dict[str, Any]] = json.loads(path.read_text())["positions"]
    return found


def reference_state(case: dict[str, Any]) -> State:
    """The position after the moves of a case."""
    rules = {"tromp-taylor": "tromp-taylor", "chinese": "chinese,ko=simple"}[case["rules"]]
    game = zerogames.get_game(f"go:size={case['size']},komi={case['komi']},rules={rules}")
    state = game.initial_state()
    if case["handicap"]:
        letters = "abcdefghijklmnopqrstuvwxyz"
        points = [game.parse_action(state, text) for text in case["handicap"]]
        n = case["size"]
        stones = "".join(f"[{letters[p % n]}{letters[n - 1 - p // n]}]" for p in points)
        state = game.parse_state(f"(;SZ[{n}]AB{stones}PL[W])")
    for _, text in case["moves"]:
        state = state.play(game.parse_action(state, text))
    return state


def reference_planes(game: Game, case: dict[str, Any]) -> np.ndarray:
    """The planes of a case."""
    n = case["size"]
    planes = np.zeros((41, n, n), np.float32)
    planes[0] = 1
    for channel, points in case["planes"].items():
        for text in points:
            planes[int(channel)].flat[game.parse_point(text)] = 1  # type: ignore[attr-defined]
    planes[22:] = np.array(case["globals"], np.float32)[:, None, None]
    return planes


def test_planes_are_those_of_katago() -> None:
    for case in reference():
        state = reference_state(case)
        game = zerogames.get_game(f"go:size={case['size']}")
        option = ":handicap-bonus=stones" if case["rules"] == "chinese" else ""
        planes = state.observe(f"katago-v7{option}")
        wanted = reference_planes(game, case)
        different = np.flatnonzero(np.abs(planes - wanted).reshape(41, -1).max(1) > 1e-6)
        assert different.size == 0, (case["id"], different)


def plain_game(size: int, rules: str, ko: str, *, suicide: bool, komi: float) -> PlainKataGo:
    return PlainKataGo(
        size, komi=komi, ko=ko, suicide=suicide, friendly_pass=rules.split(",")[0] in FRIENDLY
    )


RULES = (
    ("tromp-taylor", "positional", True),
    ("chinese", "positional", False),
    ("chinese,ko=simple", "simple", False),
    ("new-zealand", "situational", True),
    ("aga", "situational", False),
    ("new-zealand,ko=simple", "simple", True),
)


@pytest.mark.parametrize(("rules", "ko", "suicide"), RULES)
def test_planes_are_what_a_plain_encoder_makes(rules: str, ko: str, suicide: bool) -> None:
    rng = np.random.default_rng(len(rules))
    seen = np.zeros(41)
    for size, plies in ((2, 40), (3, 60), (4, 80), (5, 120), (6, 60)):
        komi = float(rng.integers(-20, 40)) / 2
        game = zerogames.get_game(f"go:size={size},komi={komi},rules={rules}")
        state: Any = game.initial_state()
        plain = plain_game(size, rules, ko, suicide=suicide, komi=komi)
        for ply in range(plies):
            if state.result is not None:
                state = state.with_turn(state.to_play)  # play goes on
            if rng.random() < 0.03:
                state = state.with_turn(1 - state.to_play)
                plain.turn()
            if ply % 2 or size < 4:
                planes, wanted = state.observe("katago-v7"), plain.observe()
                # A bare turn forgets earlier boards in KataGo; ours stay forbidden.
                if plain.start:
                    wanted[6] = np.maximum(wanted[6], planes[6])
                wrong = np.flatnonzero((planes != wanted).reshape(41, -1).any(1))
                assert wrong.size == 0, (size, ply, wrong, str(state))
                seen += wanted.reshape(41, -1).any(1)
            legal = [a for a in state.legal_actions().tolist() if a < size * size]
            dies_alone = set(legal) & {
                p for p in legal if state.play(p).board().ravel()[p] == 0 and alone(state, p)
            }
            legal = [a for a in legal if a not in dies_alone]
            action = size * size
            if legal and rng.random() > 0.12:
                action = int(rng.choice(legal))
            state = state.play(action)
            plain.play(PASS if action == size * size else action)
    shown = [1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 23, 27]
    assert all(seen[plane] > 0 for plane in shown), np.flatnonzero(seen == 0)


def alone(state: Any, point: int) -> bool:
    """Whether no stone of the side to move is beside the point."""
    board, own = state.board(), 1 if state.to_play == 0 else -1
    size = len(board)
    row, column = divmod(point, size)
    near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return not any(0 <= r < size and 0 <= c < size and board[r, c] == own for r, c in near)


def plain_replay(record: GameRecord, ply: int) -> PlainKataGo:
    game: Any = zerogames.get_game(record.game)
    rules = game.options
    plain = plain_game(
        game.size,
        rules.rules,
        rules.rule_set.ko,
        suicide=rules.rule_set.suicide,
        komi=rules.komi,
    )
    for action in record.actions[:ply].tolist():
        plain.play(PASS if action == game.size**2 else action)
    return plain


def test_planes_of_real_games() -> None:
    """Large boards with long ladders."""
    games = list(shared_games("elf-ladder-suite"))[:24:8]
    for record in games:
        for ply in (60, 150):
            ply = min(ply, len(record.actions))
            planes = position(record, ply).observe("katago-v7")
            wanted = plain_replay(record, ply).observe()
            assert np.array_equal(planes, wanted)


def test_a_handicap_gives_white_points_where_the_rules_say_so() -> None:
    game = zerogames.get_game("go:size=9,komi=0.5,rules=aga,handicap=4")
    state = game.initial_state()
    for option, points in (("none", 0), ("stones", 4), ("stones-1", 3)):
        planes = state.observe(f"katago-v7:handicap-bonus={option}")
        assert planes[27, 0, 0] == np.float32((0.5 + points) / 20)
    # Stones that Black plays before White's first one count too, one alone does not.
    empty: Any = zerogames.get_game("go:size=9,komi=0.5").initial_state()
    one = empty.play(40)
    two = one.with_turn(0).play(41)
    later = two.play(0).play(50)
    for at, points in ((one, 0), (two, 2), (later, 2)):
        sign = 1 if at.to_play == 1 else -1
        planes = at.observe("katago-v7:handicap-bonus=stones")
        assert planes[27, 0, 0] == np.float32(sign * (0.5 + points) / 20)


def test_history_is_hidden_where_a_pass_would_end_the_game_if_one_asks() -> None:
    state = zerogames.get_game("go:size=5").initial_state().play(7).play(12).play(25)
    plain = state.observe("katago-v7")
    hidden = state.observe("katago-v7:conservative-pass=on")
    assert plain[22:24, 0, 0].tolist() == [1, 0]
    assert plain[10, 2, 2] == plain[11, 1, 2] == plain[36, 0, 0] == 1
    assert not hidden[9:14].any()
    assert not hidden[22:27].any()
    assert not hidden[36].any()


def test_pass_alive_area_as_if_suicide_were_legal() -> None:
    """The flag of a net gives the area of the rules with suicide, whatever the rules."""
    rng = np.random.default_rng(5)
    without = zerogames.get_game("go:size=5,rules=chinese")
    different = 0
    for _ in range(30):
        state: Any = without.initial_state()
        for _ in range(60):
            actions = state.legal_actions()
            state = state.play(int(rng.choice(actions[:-1] if len(actions) > 1 else actions)))
            if state.result is not None:
                break
            board, turn = state.board().ravel(), "BW"[state.to_play]
            stones = "".join(
                name + "".join(f"[{chr(97 + p % 5)}{chr(101 - p // 5)}]" for p in points)
                for name, sign in (("AB", 1), ("AW", -1))
                if (points := np.flatnonzero(board == sign).tolist())
            )
            text = f"(;SZ[5]{stones}PL[{turn}])"
            wanted = zerogames.get_game("go:size=5").parse_state(text).observe("katago-v7")
            area = state.observe("katago-v7:pass-alive=suicide")[18:20]
            assert np.array_equal(area, wanted[18:20])
            different += not np.array_equal(area, state.observe("katago-v7")[18:20])
    assert different > 0


def test_wrong_options_are_named() -> None:
    state = zerogames.get_game("go:size=5").initial_state()
    for text, message in (
        ("katago-v7:history=zero", "known: conservative-pass, pass-alive, handicap-bonus"),
        ("katago-v7:pass-alive=no", "rules or suicide"),
        ("katago-v7:handicap-bonus=2", "none or stones or stones-1"),
    ):
        with pytest.raises(UserError, match=message):
            state.observe(text)


def test_plain_ladders_find_the_first_test_position() -> None:
    """The reference itself: a stone in atari that runs into the corner."""
    rows = ["." * 9, "..O......", ".OXO.....", ".O......."] + ["." * 9] * 5
    stones = {
        (8 - r) * 9 + c: "XO".index(mark)
        for r, row in enumerate(rows)
        for c, mark in enumerate(row)
        if mark != "."
    }
    assert ladders(9, stones, None, 0)[0] == {6 * 9 + 2}
