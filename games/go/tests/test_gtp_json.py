"""KataGo's JSON protocol for analysis, as KaTrain speaks it."""

import io
import json
import random
import threading
import time
from typing import Any

import pytest
from gtp_client import small_settings
from zerogames_go import GoOptions
from zerogames_go.gtp.json_session import JsonSession, points_from_win_rate
from zerogames_go.gtp.player import GoPlayer

QUERY: dict[str, Any] = {
    "id": "QUERY:1",
    "rules": "japanese",
    "priority": 1,
    "analyzeTurns": [2],
    "maxVisits": 30,
    "komi": 6.5,
    "boardXSize": 5,
    "boardYSize": 5,
    "includeOwnership": True,
    "includeMovesOwnership": True,
    "includePolicy": True,
    "initialStones": [],
    "initialPlayer": "B",
    "moves": [["B", "C3"], ["W", "B2"]],
    "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "maxTime": 8},
}


class Conversation:
    """A session fed by a pipe."""

    def __init__(self) -> None:
        self.output = io.StringIO()
        self.session = JsonSession(
            GoPlayer(small_settings()), GoOptions(size=5), output=self.output
        )

    def ask(self, *queries: object) -> list[dict[str, Any]]:
        """Send lines, wait for the end, and return all answers."""
        lines = [query if isinstance(query, str) else json.dumps(query) for query in queries]
        self.session.run(io.BytesIO("\n".join(lines).encode()))
        return [json.loads(line) for line in self.output.getvalue().splitlines()]


def test_a_query_of_katrain_is_answered_with_all_it_reads() -> None:
    (answer,) = Conversation().ask(QUERY)
    assert (answer["id"], answer["turnNumber"], answer["isDuringSearch"]) == ("QUERY:1", 2, False)
    assert answer["rootInfo"]["currentPlayer"] == "B"
    assert answer["rootInfo"]["visits"] >= 30
    moves = answer["moveInfos"]
    assert [move["order"] for move in moves] == list(range(len(moves)))
    assert all(move["pv"][0] == move["move"] for move in moves)
    assert all(0 <= move["winrate"] <= 1 for move in moves)
    assert {"scoreLead", "prior", "visits", "lcb"} <= set(moves[0])
    assert len(answer["ownership"]) == 25
    assert len(answer["policy"]) == 26
    # C3 and B2 are taken: from the top left these are points 12 and 16.
    assert answer["policy"][12] == answer["policy"][16] == -1
    assert sum(p for p in answer["policy"] if p >= 0) == pytest.approx(1, abs=1e-3)


def test_views_of_white_and_black_add_up() -> None:
    views = [
        QUERY | {"id": view, "overrideSettings": {"reportAnalysisWinratesAs": view}}
        for view in ("BLACK", "WHITE", "SIDETOMOVE")
    ]
    black, white, mover = Conversation().ask(*views)
    assert black["rootInfo"]["winrate"] + white["rootInfo"]["winrate"] == pytest.approx(1)
    assert black["rootInfo"]["scoreLead"] == pytest.approx(-white["rootInfo"]["scoreLead"])
    assert black["rootInfo"]["winrate"] == mover["rootInfo"]["winrate"]
    assert black["ownership"] == [-owner for owner in white["ownership"]]


def test_several_turns_and_urgent_queries() -> None:
    talk = Conversation()
    for query in (QUERY | {"analyzeTurns": [0, 1, 2]}, QUERY | {"id": "urgent", "priority": 9}):
        talk.session.take(json.dumps(query))
    answers = talk.ask()
    assert [(one["id"], one["turnNumber"]) for one in answers] == [
        ("urgent", 2),
        ("QUERY:1", 0),
        ("QUERY:1", 1),
        ("QUERY:1", 2),
    ]


def test_set_up_stones_and_moves_to_avoid() -> None:
    changes = {
        "initialStones": [["B", "A1"], ["W", "E5"]],
        "initialPlayer": "W",
        "moves": [],
        "analyzeTurns": [0],
        "avoidMoves": [{"player": "W", "moves": ["C3", "D4"], "untilDepth": 1}],
    }
    (answer,) = Conversation().ask(QUERY | changes)
    assert answer["rootInfo"]["currentPlayer"] == "W"
    assert not {"A1", "E5", "C3", "D4"} & {move["move"] for move in answer["moveInfos"]}
    only = {"allowMoves": [{"player": "W", "moves": ["C3"], "untilDepth": 1}], "avoidMoves": []}
    (answer,) = Conversation().ask(QUERY | changes | only)
    assert [move["move"] for move in answer["moveInfos"]] == ["C3"]


def test_long_searches_report_and_are_terminated() -> None:
    talk = Conversation()
    query = QUERY | {"maxVisits": 10**8, "reportDuringSearchEvery": 0.05, "overrideSettings": {}}
    talk.session.take(json.dumps(query))
    talk.session.take(json.dumps(query | {"id": "waiting"}))
    worker = threading.Thread(target=talk.ask)
    worker.start()
    for _ in range(1000):
        if talk.output.getvalue().count("isDuringSearch") >= 2:
            break
        time.sleep(0.02)
    for wanted in ("waiting", "QUERY:1"):
        end = {"id": "end", "action": "terminate", "terminateId": wanted}
        talk.session.take(json.dumps(end))
    worker.join(60)
    assert not worker.is_alive()
    answers = [json.loads(line) for line in talk.output.getvalue().splitlines()]
    assert sum(one.get("isDuringSearch", False) for one in answers) >= 2
    assert [one["id"] for one in answers if one.get("noResults")] == ["waiting"]
    final = [one for one in answers if one["id"] == "QUERY:1" and not one["isDuringSearch"]]
    assert len(final) == 1
    assert final[0]["moveInfos"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "moves"),
        ({"moves": [["B", "Z9"]]}, "moves"),
        ({"moves": "C3"}, "moves"),
        ({"boardXSize": 99}, "boardXSize"),
        ({"boardXSize": 5.5, "boardYSize": 5.5}, "boardYSize"),
        ({"boardYSize": 4}, "boardYSize"),
        ({"rules": "martian"}, "rules"),
        ({"rules": {"scoring": "TERRITORY"}}, "rules"),
        ({"komi": "half"}, "komi"),
        ({"maxVisits": 0}, "maxVisits"),
        ({"analyzeTurns": [7]}, "analyzeTurns"),
        ({"initialStones": [["B", "pass"]]}, "initialStones"),
        ({"overrideSettings": {"reportAnalysisWinratesAs": "ME"}}, "overrideSettings"),
        ({"avoidMoves": [{"player": "Q"}]}, "avoidMoves"),
        ({"action": "fly"}, "action"),
    ],
)
def test_a_wrong_field_is_named_and_the_next_query_answered(
    change: dict[str, object], field: str
) -> None:
    wrong, right = Conversation().ask(QUERY | {"id": "wrong"} | change, QUERY)
    assert (wrong["id"], wrong["field"]) == ("wrong", field)
    assert wrong["error"]
    assert right["moveInfos"]


def test_garbage_is_answered_line_by_line() -> None:
    rng = random.Random(1)
    lines = ["{", "[]", "7", '{"id": 5}', "null", "\x00", '{"id":"a"}']
    text = json.dumps(QUERY)
    for _ in range(300):
        cut = list(text)
        for _ in range(3):
            cut[rng.randrange(len(cut))] = rng.choice('0[]{}",:aB')
        lines.append("".join(cut))
    answers = Conversation().ask(*lines, {"id": "v", "action": "query_version"})
    assert sum("error" in one for one in answers) > 100
    assert not any("internal" in str(one.get("error")) for one in answers)
    assert any(one.get("version") for one in answers)


def test_points_follow_the_win_rate() -> None:
    assert points_from_win_rate(0.5) == pytest.approx(0)
    rates = [0.0, 0.1, 0.4, 0.6, 0.9, 1.0]
    leads = [points_from_win_rate(rate) for rate in rates]
    assert leads == sorted(leads)
    assert leads[0] == -leads[-1] == -50
