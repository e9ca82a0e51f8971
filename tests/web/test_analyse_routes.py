"""Reading what was pasted, searching while a page looks, reviewing whole games."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from zerogames import get_game
from zerogames.errors import UserError
from zerogames.game import parse_actions
from zerogames.web.analyse_routes import MOST_GAMES, AnalyseRoutes, Search
from zerogames.web.asking import Outbox
from zerogames.web.game_line import GameLines
from zerogames.web.opponents import WITHOUT_NET, Opponents

TOKEN = "t" * 32


@pytest.mark.parametrize(
    ("identity", "text", "plies"),
    [
        ("chess", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", 0),
        ("chess", "startpos moves e2e4 e7e5", 2),
        ("connect4", "4 4 5", 3),
        ("chess", "1. e4 {best by test} e5 2. Nf3 *", 3),
        ("chess", '[White "<b>x</b>"]\n[Black "y"]\n\n1. d4 d5 1-0\n\n1. c4 *\n', 2),
        ("go:size=9", "(;GM[1]FF[4]SZ[9];B[ee];W[cc];B[gg])", 3),
        ("shogi", "4k4/9/9/2P6/9/9/9/9/4K4 b - 1", 0),
    ],
)
def test_positions_and_games_are_read_in_every_form(post, identity, text, plies) -> None:  # type: ignore[no-untyped-def]
    games = post("read", game=identity, text=text)["games"]
    assert len(games[0]["actions"]) == plies
    position = post("position", game=identity, start=games[0]["start"], actions=games[0]["actions"])
    assert len(position["moves"]) == plies


def test_titles_and_comments_are_data(post) -> None:  # type: ignore[no-untyped-def]
    text = '[White "<b>x</b>"]\n[Black "y"]\n\n1. d4 {<i>good</i>} d5 1-0'
    (game,) = post("read", game="chess", text=text)["games"]
    assert "<b>x</b>" in game["title"]
    assert game["comments"] == {"0": "<i>good</i>"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "paste a position"),
        ("nonsense", "no game, and no position"),
        ('[White "a"]\n\n1. e4 e5 2. Ke3 Nc6 *', "'Ke3' is not legal"),
        ("\x00\x01\x02", ""),
        ("(" * 20_000, ""),
    ],
)
def test_what_cannot_be_read_is_one_clear_sentence(post, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    error = post("read", 400, game="chess", text=text)["error"]
    assert message in error
    assert "\n" not in error


def test_a_collection_of_10_mb_is_listed_from_its_beginning(post) -> None:  # type: ignore[no-untyped-def]
    text = '[White "a"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 *\n\n'
    began = time.monotonic()
    games = post("read", game="chess", text=text * (10_000_000 // len(text)))["games"]
    assert len(games) == MOST_GAMES
    assert time.monotonic() - began < 20


def _events(client: TestClient, name: str, **question: object) -> Iterator[dict]:  # type: ignore[type-arg]
    with client.stream("POST", f"/{TOKEN}/api/{name}", json=question) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize("opponent", ["shipped", WITHOUT_NET])
def test_a_search_streams_what_it_finds(client: TestClient, opponent: str) -> None:
    found = list(
        _events(client, "search", game="connect4", actions=[3], opponent=opponent, nodes=600)
    )
    last = found[-1]
    assert last["done"]
    assert last["nodes"] > 200
    assert -1 <= last["value"] <= 1
    assert sum(move["visits"] for move in last["moves"]) == pytest.approx(last["nodes"], abs=2)
    best = last["moves"][0]
    assert best["line"][0] in "1234567"
    if opponent == "shipped":
        assert sum(last["wdl"]) == pytest.approx(1)
        assert sum(move["prior"] for move in last["moves"]) == pytest.approx(1, abs=1e-3)
        assert len(best["line"]) > 1


def test_a_search_that_cannot_start_says_why(client: TestClient, post) -> None:  # type: ignore[no-untyped-def]
    over = [0, 1, 0, 1, 0, 1, 0]
    (found,) = _events(client, "search", game="connect4", actions=over, opponent="shipped")
    assert found == {"error": "the game is over"}
    (found,) = _events(client, "search", game="connect4", opponent="no such")
    assert "choose another" in found["error"]
    assert "nodes" in post("search", 400, game="connect4", opponent="shipped", nodes=0)["error"]


def test_a_review_finds_the_move_that_lost(client: TestClient) -> None:
    """Yellow plays elsewhere while red has three in a row, and red wins."""
    game = get_game("connect4")
    actions = parse_actions(game, game.initial_state(), ["4", "4", "5", "5", "6", "1", "7"])
    found = list(_events(client, "review", game="connect4", actions=actions,
                         opponent="shipped", nodes=60))  # fmt: skip
    assert found[-1] == {"done": True}
    scores = [one["score"] for one in found[:-1]]
    assert [one["ply"] for one in found[:-1]] == list(range(8))
    assert scores[-1] == 1
    assert scores[5] > 0.9, "three in a row with both ends open"
    assert found[6]["best"] in ("3", "7")


class _Reader(threading.Thread):
    """Reads one search in a loop of its own, as slowly as it is told."""

    def __init__(self, routes: AnalyseRoutes, question: Search, pause_s: float) -> None:
        super().__init__()
        self.events: list[dict] = []  # type: ignore[type-arg]
        self.stop = threading.Event()
        self.spent_s = 0.0
        self._routes, self._question, self._pause_s = routes, question, pause_s

    def run(self) -> None:
        asyncio.run(self._read())

    async def _read(self) -> None:
        outbox = Outbox(asyncio.get_running_loop(), self.stop)

        def work() -> None:
            began = time.monotonic()
            try:
                self._routes.streams["search"].answer(self._question, outbox)
            except UserError as error:
                outbox.send({"error": str(error)})
            finally:
                self.spent_s = time.monotonic() - began
                outbox.end()

        worker = asyncio.get_running_loop().run_in_executor(None, work)
        async for line in outbox.lines():
            self.events.append(json.loads(line.removeprefix("data: ")))
            await asyncio.sleep(self._pause_s)
        await worker


def test_the_newest_question_to_a_net_is_searched_and_the_older_one_ends() -> None:
    routes = AnalyseRoutes(GameLines(), Opponents())
    older = _Reader(
        routes, Search(game="connect4", opponent="shipped", nodes=10_000_000), pause_s=0
    )
    older.start()
    while not older.events and older.is_alive():
        time.sleep(0.01)
    newer = _Reader(
        routes, Search(game="connect4", actions=[3], opponent="shipped", nodes=50), pause_s=0
    )
    newer.start()
    older.join(timeout=20)
    newer.join(timeout=20)
    assert not older.is_alive()
    assert not any(event.get("done") for event in older.events)
    assert newer.events[-1]["done"]


def test_a_slow_page_does_not_slow_a_search() -> None:
    """Updates that were not read in time are replaced by later ones, and none piles up."""
    routes = AnalyseRoutes(GameLines(), Opponents())
    question = Search(game="connect4", opponent="shipped", nodes=6000)
    slow = _Reader(routes, question, pause_s=0.6)
    slow.start()
    slow.join(timeout=60)
    assert slow.events[-1]["done"]
    assert len(slow.events) <= 3 + slow.spent_s / 0.6
