"""Games that are ended early."""

from collections.abc import Callable

import pytest

from zerogames.arena.adjudication import Adjudicator, DrawRule, ResignRule, longest_game
from zerogames.arena.match_folder import StoredGame
from zerogames.arena.players import Choice
from zerogames.errors import UserError
from zerogames.registry import get_game

Run = Callable[..., list[StoredGame]]


class Quiet:
    """A state that counts moves since the last progress, as chess does."""

    def __init__(self, halfmoves: int) -> None:
        self.halfmoves = halfmoves


def adjudicate(adjudicator: Adjudicator, scores: list[float | None], *, progress_at: int = -1):  # type: ignore[no-untyped-def]
    for ply, score in enumerate(scores):
        state = Quiet(0 if ply == progress_at else 5)
        choice = Choice(action=0, centipawns=score)
        ending = adjudicator.after_move(ply % 2, choice, state, ply + 1)  # type: ignore[arg-type]
        if ending:
            return ply + 1, ending.result
    return None


def test_resigning_needs_own_moves_in_a_row() -> None:
    rule = ResignRule.parse("3/600")
    assert adjudicate(Adjudicator(rule), [0, -700, 0, -650, 0, -600]) == (6, 1.0)
    assert adjudicate(Adjudicator(rule), [-700, 0, -650, 0, -600]) == (5, -1.0)
    assert adjudicate(Adjudicator(rule), [-700, 0, -500, 0, -700, 0, -700, 0]) is None
    assert adjudicate(Adjudicator(rule), [None] * 20) is None


def test_two_sided_resigning_needs_both_to_agree() -> None:
    rule = ResignRule.parse("2/500/two")
    assert adjudicate(Adjudicator(rule), [600, -600, 700, -700]) == (4, 1.0)
    assert adjudicate(Adjudicator(rule), [-600, 600, -700, 700]) == (4, -1.0)
    assert adjudicate(Adjudicator(rule), [600, 100, 700, 100, 700, 100]) is None
    assert adjudicate(Adjudicator(rule), [600, 600, 600, 600, 600, 600]) is None


def test_a_mate_score_is_beyond_every_limit() -> None:
    adjudicator = Adjudicator(ResignRule.parse("1/10000"))
    state = Quiet(5)
    ending = adjudicator.after_move(0, Choice(action=0, mate=-3), state, 1)  # type: ignore[arg-type]
    assert ending is not None
    assert ending.result == -1.0


def test_draws_wait_for_the_move_number_and_restart_on_progress() -> None:
    rule = DrawRule.parse("4/2/20")
    assert adjudicate(Adjudicator(None, rule), [0] * 20) == (8, 0.0)
    assert adjudicate(Adjudicator(None, rule), [0] * 20, progress_at=6) == (11, 0.0)
    assert adjudicate(Adjudicator(None, rule), [0, 0, 0, 50] * 10) is None


@pytest.mark.parametrize("text", ["3", "3/", "0/600", "a/b", "3/600/three"])
def test_a_wrong_resign_rule_is_a_mistake(text: str) -> None:
    with pytest.raises(UserError):
        ResignRule.parse(text)


def test_a_game_that_is_too_long_is_a_draw(run: Run) -> None:
    games = run("random", "random", max_plies=5)
    assert [(one.result, one.reason, len(one.actions)) for one in games] == [(0, "length", 5)] * 2
    assert longest_game(get_game("connect4")) == 42
