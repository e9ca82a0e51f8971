"""What the display shows on a terminal and elsewhere."""

import io

import pytest
from rich.console import Console

from zerogames.runs.display import Display, Frame, clock, sparkline


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, no_color=True)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_shows_bar_title_and_rows() -> None:
    console = terminal()
    with Display(console) as display:
        display.show(Frame(done=0.25, title="playing [1/2]", rows=[("games", "7"), ("wins", "3")]))
        display.show(Frame(done=0.5, title="playing [1/2]", rows=[("games", "8"), ("wins", "4")]))
        display.line("a line [that] stays")
    text = written(console)
    for part in ("50%", "playing [1/2]", "games", "8", "0:00 left", "a line [that] stays"):
        assert part in text


def test_elsewhere_a_line_now_and_then() -> None:
    console = Console(file=io.StringIO(), width=80)
    with Display(console, line_every_s=0) as display:
        display.show(Frame(done=0.5, rows=[("games", "7")], line="7 games"))
    with Display(console, line_every_s=60) as display:
        display.show(Frame(done=0.5, line="8 games"))
    assert written(console) == "7 games\n"


def test_time_left_is_told_from_the_speed_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    display = Display(Console(file=io.StringIO()))
    assert display.time_left(None) == "until Ctrl-C"
    display.show(Frame(done=0.5))  # a continued run: the first half was another session's
    assert display.time_left(0.5) == ""
    now[0] += 60
    assert display.time_left(0.6) == "4:00 left"


def test_clock_and_sparkline() -> None:
    assert [clock(59.6), clock(3723)] == ["1:00", "1:02:03"]
    assert sparkline([]) == ""
    assert sparkline([1, 1]) == "▁▁"
    assert sparkline(range(9), width=3) == "▁▅█"
