"""Clocks of the Go Text Protocol."""

import math

import numpy as np
import pytest
from zerogames_go.gtp.clock import (
    TimeLeft,
    TimeSettings,
    after_move,
    move_budget,
    moves_left,
    parse_kata_time_settings,
    parse_time_left,
    parse_time_settings,
)
from zerogames_go.gtp.protocol import SyntaxFault

ABSOLUTE = TimeSettings(kind="absolute", main_s=600)
FISCHER = TimeSettings(kind="fischer", main_s=60, increment_s=5)
CANADIAN = TimeSettings(kind="canadian", main_s=300, period_s=300, count=25)
BYOYOMI = TimeSettings(kind="byoyomi", main_s=600, period_s=30, count=5)


def test_time_settings_tell_the_kind_of_clock() -> None:
    assert parse_time_settings(["600", "0", "0"]) == ABSOLUTE
    assert parse_time_settings(["300", "300", "25"]) == CANADIAN
    # Overtime without a number of stones means no limit.
    assert parse_time_settings(["300", "1", "0"]) == TimeSettings()


def test_named_time_settings() -> None:
    assert parse_kata_time_settings(["none"]) == TimeSettings()
    assert parse_kata_time_settings(["absolute", "600"]) == ABSOLUTE
    assert parse_kata_time_settings(["byoyomi", "600", "30", "5"]) == BYOYOMI
    assert parse_kata_time_settings(["canadian", "300", "300", "25"]) == CANADIAN
    assert parse_kata_time_settings(["fischer", "60", "5"]) == FISCHER
    capped = parse_kata_time_settings(["fischer-capped", "60", "5", "120", "30"])
    assert (capped.limit_s, capped.max_move_s) == (120, 30)
    assert parse_kata_time_settings(["fischer-capped", "60", "5", "-1", "-1"]).limit_s == math.inf


@pytest.mark.parametrize(
    "words", [[], ["1", "2"], ["x", "0", "0"], ["1", "1", "-1"], ["nan", "0", "0"]]
)
def test_bad_time_settings_are_syntax_errors(words: list[str]) -> None:
    with pytest.raises(SyntaxFault):
        parse_time_settings(words)
    with pytest.raises(SyntaxFault):
        parse_kata_time_settings(["canadian", *words] if words else ["sundial"])


def test_moves_left_shrink_to_a_floor() -> None:
    assert moves_left(361, 0) == pytest.approx((0.95 * 361 + 20) / 2)
    assert moves_left(361, 350) == pytest.approx((0.15 * 361 + 30) / 2)
    assert moves_left(81, 10, with_increment=True) == pytest.approx((0.75 * 81 + 15 - 10) / 2)


def test_without_a_clock_there_is_no_budget() -> None:
    assert move_budget(TimeSettings(), TimeLeft(0), area=81, stones=0) is None


def test_absolute_time_is_shared_over_the_moves_left() -> None:
    budget = move_budget(ABSOLUTE, TimeLeft(601), area=361, stones=0, lag_s=0.5)
    assert budget is not None
    assert budget.soft_s == pytest.approx(600 / moves_left(361, 0))
    assert budget.hard_s == pytest.approx(120)


def test_an_increment_is_spent_at_once() -> None:
    budget = move_budget(FISCHER, TimeLeft(31), area=81, stones=0, lag_s=0.5)
    assert budget is not None
    assert budget.soft_s == pytest.approx(5 + 25 / moves_left(81, 0, with_increment=True))
    assert budget.hard_s == pytest.approx(10)


def test_canadian_overtime_is_shared_by_its_stones() -> None:
    budget = move_budget(CANADIAN, TimeLeft(101, 10), area=361, stones=100, lag_s=0.5)
    assert budget is not None
    assert budget.soft_s == budget.hard_s == pytest.approx(10)


def test_a_japanese_period_is_used_whole_with_more_care_in_the_last() -> None:
    middle = move_budget(BYOYOMI, TimeLeft(30, 3), area=361, stones=100, lag_s=0.5)
    last = move_budget(BYOYOMI, TimeLeft(30, 1), area=361, stones=100, lag_s=0.5)
    assert middle is not None
    assert last is not None
    assert middle.use_all
    assert (middle.soft_s, last.soft_s) == (29.5, 29)


def test_main_time_before_overtime_gives_at_least_a_period() -> None:
    budget = move_budget(BYOYOMI, TimeLeft(600), area=361, stones=0)
    assert budget is not None
    assert budget.soft_s >= 29.5
    # 600 / 30 / e = 7.4 turns, stretched to 1.75 of that because the game is long.
    assert budget.soft_s == pytest.approx(600 / (600 / 30 / math.e * 1.75))


def test_many_periods_count_as_main_time() -> None:
    few = TimeSettings(kind="byoyomi", main_s=0, period_s=10, count=5)
    many = TimeSettings(kind="byoyomi", main_s=0, period_s=10, count=30)
    plain = move_budget(few, few.start(), area=81, stones=0)
    rich = move_budget(many, many.start(), area=81, stones=0)
    assert plain is not None
    assert rich is not None
    assert rich.hard_s > 4 * plain.hard_s


def test_budgets_never_exceed_what_would_lose_the_game() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5000):
        kind = rng.choice(["absolute", "fischer", "canadian", "byoyomi"])
        settings = TimeSettings(
            kind=str(kind),  # type: ignore[arg-type]
            main_s=float(rng.choice([0, 1, 60, 3600])),
            period_s=float(rng.choice([0.1, 1, 30])),
            count=int(rng.integers(1, 30)),
            increment_s=float(rng.choice([0, 0.1, 10])),
        )
        overtime = kind in ("canadian", "byoyomi")
        stones = int(rng.integers(0, settings.count + 1)) if overtime else 0
        left = TimeLeft(float(rng.exponential(20)), stones)
        budget = move_budget(settings, left, area=81, stones=int(rng.integers(0, 81)))
        assert budget is not None
        assert 0.001 <= budget.soft_s <= budget.hard_s
        most = left.time_s
        if overtime and stones == 0:
            most += settings.period_s * (settings.count if kind == "byoyomi" else 1)
        elif kind == "byoyomi":
            most += settings.period_s * max(0, stones - 1)
        assert budget.hard_s <= max(0.001, most)


@pytest.mark.parametrize("settings", [ABSOLUTE, FISCHER, CANADIAN, BYOYOMI])
def test_a_whole_game_by_its_own_budgets_never_runs_out(settings: TimeSettings) -> None:
    left = settings.start()
    for move in range(150):
        budget = move_budget(settings, left, area=361, stones=2 * move)
        assert budget is not None
        in_last_period = settings.kind in ("canadian", "byoyomi") and left.stones == 1
        before = left
        left = after_move(settings, left, budget.soft_s)
        assert left.time_s > 0
        if in_last_period:
            assert budget.hard_s < before.time_s


def test_our_own_clock_follows_the_rules_of_overtime() -> None:
    assert after_move(CANADIAN, TimeLeft(10), 4) == TimeLeft(6)
    assert after_move(CANADIAN, TimeLeft(10), 15) == TimeLeft(295, 24)
    assert after_move(CANADIAN, TimeLeft(20, 1), 15) == TimeLeft(300, 25)
    assert after_move(BYOYOMI, TimeLeft(10), 15) == TimeLeft(30, 5)
    assert after_move(BYOYOMI, TimeLeft(30, 5), 65) == TimeLeft(30, 3)
    assert after_move(FISCHER, TimeLeft(10), 4) == TimeLeft(11)
    capped = TimeSettings(kind="fischer", main_s=10, increment_s=5, limit_s=12)
    assert after_move(capped, TimeLeft(10), 1) == TimeLeft(12)


def test_time_left_without_overtime_ignores_stones() -> None:
    assert parse_time_left(ABSOLUTE, ["100", "5"]) == TimeLeft(100)
    assert parse_time_left(CANADIAN, ["100", "5"]) == TimeLeft(100, 5)
    assert parse_time_left(CANADIAN, ["-3", "5"]) == TimeLeft(0, 5)
