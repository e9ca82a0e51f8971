"""Time controls and clocks."""

import pytest

from zerogames.arena.time_control import TimeControl
from zerogames.errors import UserError


@pytest.mark.parametrize(
    ("text", "time_s", "moves", "increment_s", "tag"),
    [
        ("60+0.6", 60, 0, 0.6, "60+0.6"),
        ("40/60+0.6", 60, 40, 0.6, "40/60+0.6"),
        ("1:30+1", 90, 0, 1, "90+1"),
        ("600", 600, 0, 0, "600"),
        ("0.5", 0.5, 0, 0, "0.5"),
        ("inf", None, 0, 0, "-"),
    ],
)
def test_time_controls_are_read_in_cutechess_form(
    text: str, time_s: float | None, moves: int, increment_s: float, tag: str
) -> None:
    control = TimeControl.parse(text)
    assert control == TimeControl(time_s=time_s, moves=moves, increment_s=increment_s)
    assert str(control) == tag


@pytest.mark.parametrize("text", ["60+", "x", "-5", "0+0", "40/", "1:2:3", "60 0.6"])
def test_a_wrong_time_control_is_a_mistake(text: str) -> None:
    with pytest.raises(UserError):
        TimeControl.parse(text)


def test_clock_starts_with_an_increment_and_gets_a_new_period() -> None:
    clock = TimeControl.parse("3/10+1").start()
    assert (clock.remaining_s, clock.moves_to_go) == (11, 3)
    assert clock.spend(4)
    assert (clock.remaining_s, clock.moves_to_go) == (8, 2)
    assert clock.spend(8.05, margin_s=0.1)
    assert (clock.remaining_s, clock.moves_to_go) == (1, 1)
    assert clock.spend(0)
    assert (clock.remaining_s, clock.moves_to_go) == (12, 3)
    assert not clock.spend(12.2, margin_s=0.1)
    assert TimeControl.parse("inf").start().spend(1e9)
