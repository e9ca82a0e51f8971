"""The game behind the protocol: any order of moves, set-up, files, dead stones, passing."""

import pytest
from go_samples import own_games
from zerogames_go import GoOptions, _native
from zerogames_go.gtp.handicap import free_handicap
from zerogames_go.gtp.played_game import MAX_PLIES, GtpGame
from zerogames_go.gtp.resignation import Resignation
from zerogames_go.gtp.rule_names import parse_kgs_rules, parse_rules, rules_to_json, with_rule
from zerogames_go.passing import options_to_move
from zerogames_go.status import chains, estimate_status, format_score

from zerogames import UserError
from zerogames.game import play_actions

NINE = GoOptions(size=9, komi=7)


def play(played: GtpGame, text: str) -> None:
    """Play words such as `bD4`, `wpass`."""
    for word in text.split():
        played.play("bw".index(word[0]), played.game.parse_point(word[1:]))


def position(*rows: str, komi: float = 7, to_play: str = "B") -> _native.Go:
    """From a drawing, row 1 last."""
    size = len(rows)
    points = {"X": "", "O": ""}
    for row, text in enumerate(rows):
        for column, mark in enumerate(text):
            if mark in points:
                points[mark] += f"[{chr(97 + column)}{chr(97 + row)}]"
    setup = "".join(
        name + points[mark] for name, mark in (("AB", "X"), ("AW", "O")) if points[mark]
    )
    rules = _native.Rules(komi=komi)
    return _native.Go.from_sgf(f"(;SZ[{size}]{setup}PL[{to_play}])", size, rules)


# Black's left, White's right; a white stone at B2 has no hope.
SETTLED = (
    "..XO.",
    "X.XO.",
    "..XOO",
    ".OXO.",
    "..XO.",
)


def test_moves_of_one_line_are_given_with_their_start() -> None:
    played = GtpGame(NINE)
    play(played, "bC3 wD4 bE5")
    start, actions = played.line_for(1)
    assert start is played.setup
    assert [played.game.format_action(start, a) for a in actions] == ["C3", "D4", "E5"]


def test_a_colour_may_move_twice_and_history_goes_on() -> None:
    played = GtpGame(NINE)
    play(played, "bC3 bD4 wE5")
    start, actions = played.line_for(0)
    assert [played.game.format_action(start, a) for a in actions] == ["D4", "E5"]
    end = play_actions(start, actions)
    assert end.board().sum() == 1  # type: ignore[attr-defined]
    start, actions = played.line_for(1)
    assert actions == []
    assert start.to_play == 1


def test_play_goes_on_after_two_passes() -> None:
    played = GtpGame(NINE)
    play(played, "bpass wpass")
    assert played.state.result is not None
    play(played, "bC3 wpass bpass")
    assert played.state.result is not None
    assert played.state_for(1).result is None


def test_superko_survives_a_change_of_turn() -> None:
    played = GtpGame(GoOptions(size=5, rules="tromp-taylor"))
    play(played, "bB3 wC3 bA2 wD2 bB1 wC1 bC2 wB2")  # White takes a ko stone on C2
    assert not played.state_for(0).is_legal(played.game.parse_point("C2"))
    play(played, "wE5")
    # White moved twice: the board before is not repeated with E5 on it.
    assert played.state_for(0).is_legal(played.game.parse_point("C2"))


def test_undo_takes_back_one_move_and_no_more() -> None:
    played = GtpGame(NINE)
    play(played, "bC3 bD4")
    played.undo()
    assert len(played.plies) == 1
    played.undo()
    assert played.is_empty
    with pytest.raises(UserError, match="cannot undo"):
        played.undo()


def test_illegal_moves_are_refused() -> None:
    played = GtpGame(NINE)
    play(played, "bC3")
    with pytest.raises(UserError, match="illegal move"):
        play(played, "wC3")


def test_a_game_may_be_long_but_not_endless() -> None:
    played = GtpGame(GoOptions(size=2))
    for ply in range(MAX_PLIES):
        played.play(ply % 2, played.pass_action)
    with pytest.raises(UserError, match="too long"):
        played.play(0, played.pass_action)
    played.undo()
    played.play(1, 0)


def test_komi_and_rules_change_within_a_game() -> None:
    played = GtpGame(NINE)
    played.place_handicap([20, 24])
    play(played, "wE5 bD4")
    changed = played.changed(GoOptions(size=9, komi=0.5, rules="japanese"))
    assert changed.state.rules.komi == 0.5
    assert (changed.state.board() == played.state.board()).all()
    assert changed.state.score == played.state.score + 6.5


def test_handicap_stones_need_an_empty_board() -> None:
    played = GtpGame(NINE)
    played.place_handicap([20, 24, 56])
    assert played.to_play == 1
    with pytest.raises(UserError, match="board not empty"):
        played.place_handicap([1, 2])
    for bad in ([3], [3, 3], [3, 81], list(range(81))):
        with pytest.raises(UserError, match="bad vertex list"):
            GtpGame(NINE).place_handicap(bad)


@pytest.mark.parametrize(("size", "count"), [(2, 2), (5, 4), (6, 9), (9, 12), (9, 80), (19, 20)])
def test_free_handicap_gives_as_many_points_as_wanted(size: int, count: int) -> None:
    points = free_handicap(size, count)
    assert len(set(points)) == count
    GtpGame(GoOptions(size=size)).place_handicap(points[: size * size - 1])


def test_a_game_written_as_sgf_reads_back() -> None:
    played = GtpGame(NINE)
    played.place_handicap([20, 24])
    play(played, "wE5 bD4 bD5 wpass")
    text = played.to_sgf(result="B+R")
    assert "HA[2]" in text
    again = GtpGame.from_sgf(text.encode(), GoOptions())
    assert again.to_sgf(result="B+R") == text
    assert [ply.colour for ply in again.plies] == [1, 0, 0, 1]
    before = GtpGame.from_sgf(text.encode(), GoOptions(), before_move=3)
    assert len(before.plies) == 2
    assert GtpGame.from_sgf(text.encode(), GoOptions(), before_move=1).to_play == 1


def test_sgf_with_an_illegal_move_is_refused() -> None:
    with pytest.raises(UserError, match="move 2 is not legal"):
        GtpGame.from_sgf(b"(;SZ[9];B[aa];W[aa])", GoOptions())


def test_chains_are_found() -> None:
    state = position("X.O", "XXO", "..O")
    assert sorted(map(tuple, chains(state.board()))) == [(2, 5, 8), (3, 4, 6)]


def test_a_stone_without_hope_is_dead_and_taken_off_the_score() -> None:
    state = position(*SETTLED, komi=0)
    stones = estimate_status(state)
    assert stones.dead_points == {6}
    assert format_score(stones.score) == "B+5"
    assert state.score == -5  # as it stands Black has no territory at all


def test_two_eyes_are_unconditional_life() -> None:
    state = position(".X.XO", "XXXXO", "OOOOO", ".....", ".....")
    alive = state.unconditionally_alive()
    assert (alive[3:][alive[3:] == 1].size, (alive == -1).sum()) == (6, 0)
    one_eye = position(".XX.O", "XXXOO", "OOOO.", ".....", ".....")
    assert not one_eye.unconditionally_alive().any()


def test_finished_games_without_dead_stones_are_scored_as_they_stand() -> None:
    for record in own_games():
        played = GtpGame(GoOptions(size=9, komi=0))
        for ply, action in enumerate(record.actions.tolist()):
            played.play(ply % 2, action)
        stones = estimate_status(played.state)
        assert stones.dead == []
        assert stones.score == played.state.score


def test_ownership_of_playouts_is_deterministic_and_bounded() -> None:
    state = position(*SETTLED)
    owned = state.playout_ownership(playouts=50, seed=3)
    assert (owned == state.playout_ownership(playouts=50, seed=3)).all()
    assert abs(owned).max() <= 1


def test_eyes_and_suicide_are_not_sensible() -> None:
    state = position(".X.X", "XXXX", "OOOO", ".O.O")
    assert state.sensible_actions().tolist() == []
    assert len(state.legal_actions()) > 1
    assert options_to_move(state, rules="tromp-taylor", net_has_pass=False).actions == [16]


def test_no_pass_while_dead_stones_would_lose_the_game() -> None:
    # Black leads by five once B2 is off the board, but is behind as it stands.
    state = position(*SETTLED, komi=0)
    for after_pass in (False, True):
        here = state.with_turn(1).play(25) if after_pass else state
        options = options_to_move(here, rules="tromp-taylor", net_has_pass=True)
        assert 25 not in options.actions
        assert options.actions


def test_pass_when_the_opponent_passed_and_we_win() -> None:
    state = position(*SETTLED, komi=-30).with_turn(1).play(25)
    options = options_to_move(state, rules="tromp-taylor", net_has_pass=False)
    assert options.actions == [25]
    assert options.is_settled


def test_a_net_without_pass_is_never_offered_one_while_moves_are_left() -> None:
    state = position(*SETTLED, komi=-30)
    assert 25 not in options_to_move(state, rules="tromp-taylor", net_has_pass=False).actions
    assert 25 in options_to_move(state, rules="tromp-taylor", net_has_pass=True).actions


def test_cleanup_captures_before_it_passes() -> None:
    dirty = position(*SETTLED, komi=-30).with_turn(1).play(25)
    options = options_to_move(dirty, rules="chinese", net_has_pass=True, cleanup=True)
    assert 25 not in options.actions
    clean = position(
        *(row.replace(".O", "..", 1) if i == 3 else row for i, row in enumerate(SETTLED))
    )
    options = options_to_move(clean, rules="chinese", net_has_pass=True, cleanup=True)
    assert options.actions == [25]


def test_resigning_takes_several_hopeless_turns_in_a_row() -> None:
    resignation = Resignation(win_rate=0.05, turns=3)
    assert [resignation.resigns(0, rate) for rate in (0.01, 0.05, 0.2, 0.01, 0.01)] == [False] * 5
    assert resignation.resigns(0, 0.01)
    assert not resignation.resigns(1, 0.01)
    never = Resignation(win_rate=0, turns=1)
    assert not never.resigns(0, 0.0)


def test_rules_by_name_and_as_json() -> None:
    options = GoOptions(**parse_rules("tromp-taylor"))
    assert '"ko":"POSITIONAL","suicide":true' in rules_to_json(options)
    assert GoOptions(**parse_rules("chinese")).rule_set == ("simple", False)
    assert GoOptions(**parse_kgs_rules("chinese")).rule_set == ("positional", False)
    assert GoOptions(**parse_kgs_rules("new_zealand")).rules == "new-zealand"
    again = GoOptions(**parse_rules(rules_to_json(GoOptions(rules="aga"))))
    assert again.rules == "aga"
    changed = GoOptions(**with_rule(GoOptions(rules="aga"), "suicide", "true"))
    assert changed.rules == "new-zealand"


@pytest.mark.parametrize(
    "text",
    ["martian", '{"scoring":"TERRITORY"}', '{"tax":"ALL"}', "{", '{"ko":7}', '{"hasButton":true}'],
)
def test_rules_that_cannot_be_had_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_rules(text)
