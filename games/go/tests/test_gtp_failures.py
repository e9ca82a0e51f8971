"""Numbers without measure, files that are none, and searches that fail, in GTP and in JSON."""

import io
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from gtp_client import Conversation, small_settings
from numpy.typing import NDArray
from zerogames_go import GoOptions
from zerogames_go.gtp.json_session import JsonSession
from zerogames_go.gtp.player import GoPlayer

from zerogames.evaluate import Evaluation, RandomEvaluator

NO_NUMBERS = ("nan", "inf", "-inf", "1_0", "\u0663", "", "0x10", "9" * 400, "1e999", "one")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev", "/proc/self/mem", "fifo"])
def test_only_regular_files_are_read(path: str, tmp_path: Path) -> None:
    if path == "fifo":
        path = str(tmp_path / "fifo")
        os.mkfifo(path)
    began = time.monotonic()
    assert Conversation().fails(f"loadsgf {path}").startswith("cannot load file")
    assert time.monotonic() - began < 5


def test_a_file_beyond_all_games_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.sgf"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # A hole: no disk is used.
    assert Conversation().fails(f"loadsgf {path}") == "cannot load file: it is too large"


def test_a_pipe_is_not_replaced_by_a_game(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    assert Conversation().fails(f"printsgf {path}").endswith("no file")
    assert path.is_fifo()


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_a_syntax_error(text: str) -> None:
    talk = Conversation()
    for command in (f"komi {text}", f"time_left b {text} 0", f"kata-analyze interval {text}"):
        assert "syntax error" in talk.fails(command)
    for command in (f"time_settings {text} 1 1", f"kata-time_settings fischer 1 {text}"):
        assert "syntax error" in talk.fails(command)


@pytest.mark.parametrize(
    "settings",
    [
        "kata-time_settings byoyomi 0 5e-324 3",
        "kata-time_settings byoyomi 1e-300 1e-300 1000000000",
        "kata-time_settings canadian 0 1e-9 1000000000",
        "kata-time_settings fischer-capped 1e-300 1e30 1e-300 5e-324",
        "time_settings 999999999999999999999 1e-9 1",
        "time_settings -5 -0.0 1000000000",
    ],
)
def test_clocks_of_any_size_leave_the_game_alive(settings: str) -> None:
    talk = Conversation()
    talk.ask(settings)
    for colour in "bwbw":
        talk.ask(f"genmove {colour}")
    talk.ask("time_left b 1e-300 1000000000")
    talk.ask("genmove b")


class Failing(RandomEvaluator):
    """Fails for batches of more than `most` positions."""

    most = 0

    def evaluate(self, planes: NDArray[np.float32]) -> Evaluation:
        if len(planes) > self.most:
            raise MemoryError(f"a batch of {len(planes)}\nis too much")
        return super().evaluate(planes)


def failing_talk(most: int) -> Conversation:
    talk = Conversation(size=5, nodes=4000, batch=64)
    engine = talk.table.player._opened[5]
    evaluator = Failing(engine.game)
    evaluator.most = most
    engine.evaluator = evaluator
    return talk


@pytest.mark.parametrize(("most", "problems"), [(26, 1), (1, 2)])
def test_a_failed_search_is_followed_by_smaller_ones(
    most: int, problems: int, capfd: pytest.CaptureFixture[str]
) -> None:
    talk = failing_talk(most)
    talk.ask("clear_board")
    assert talk.ask("genmove b") not in ("resign", "pass")
    told = capfd.readouterr().err.splitlines()
    assert len(told) == problems
    assert all(line.startswith("the search failed: MemoryError: a batch of") for line in told)


def test_where_all_fail_the_command_fails_and_nothing_is_played() -> None:
    talk = failing_talk(0)
    assert "MemoryError" in talk.fails("genmove b")
    assert "0 moves" in talk.ask("showboard")


BAD_QUERIES = (
    '{"id": "a", "action": "query_version", "x": NaN}',
    '{"id": "a", "action": "query_version", "x": 1e999}',
    '{"id": "a", "action": "terminate", "terminateId": -Infinity}',
    '{"id": "a", "action": {"a": [[[]]]}}',
    '{"id": "a", "moves": [], "maxVisits": 1e999}',
    '{"id": "a", "moves": [], "maxVisits": ' + "9" * 400 + "}",
    '{"id": "a", "moves": [], "maxVisits": ' + "9" * 5000 + "}",
    '{"id": "a", "moves": [], "maxVisits": true}',
    '{"id": "a", "moves": [], "priority": -1e308}',
    '{"id": "a", "moves": [], "rules": {"ko": NaN}}',
    '{"id": "a", "moves": [], "overrideSettings": {"maxTime": NaN}}',
    '{"id": "a", "x": ' + "[" * 900 + "]" * 900 + ', "action": "query_version"}',
    "[" * 200_000,
)


@pytest.mark.parametrize("query", BAD_QUERIES, ids=range(len(BAD_QUERIES)))
def test_bad_queries_leave_the_session_alive(query: str) -> None:
    output = io.StringIO()
    session = JsonSession(GoPlayer(small_settings()), GoOptions(size=5), output=output)
    good = '{"id": "b", "moves": [], "boardXSize": 5, "boardYSize": 5, "maxVisits": 3}'
    session.run(io.BytesIO(f"{query}\n{good}\n".encode()))
    answers = [json.loads(line) for line in output.getvalue().splitlines()]
    assert {answer.get("id") for answer in answers} <= {"a", "b", None}
    assert answers[-1]["id"] == "b"
    assert "moveInfos" in answers[-1]
    assert "internal error" not in output.getvalue()
