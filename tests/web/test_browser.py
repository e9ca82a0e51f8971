"""The page in a real browser: whole games by clicks, dragging, reconnecting, hostile names."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uvicorn

from zerogames import get_game
from zerogames.game import parse_actions, play_actions
from zerogames.picture import CellPicture
from zerogames.web.server import WebSettings, make_app, open_socket

sys.path.insert(0, str(Path(__file__).parent))
from small_run import write_small_run

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = "/usr/bin/chromium"
pytestmark = [
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="chromium is not installed"),
    pytest.mark.xdist_group("browser"),
]
TOKEN = "t" * 32
ARGS = (
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
)


class Served:
    """A server in a thread, which can be stopped and started again at the same address."""

    def __init__(self, settings: WebSettings | None = None) -> None:
        self._settings = settings or WebSettings(game="connect4")
        self._port = 0
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/{TOKEN}/"

    def start(self) -> None:
        self._socket = open_socket(self._port)
        self._port = self._socket.getsockname()[1]
        self._socket.listen()
        app = make_app(self._settings, TOKEN)
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def close(self) -> None:
        self.stop()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    server = Served()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser():  # type: ignore[no-untyped-def]
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        yield found
        found.close()


@pytest.fixture
def page(browser, served: Served):  # type: ignore[no-untyped-def]
    """A page in a fresh profile; an error of any script fails the test."""
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    context.set_default_timeout(15_000)
    found = context.new_page()
    errors: list[str] = []
    found.on("pageerror", lambda error: errors.append(str(error)))
    yield found
    context.close()
    assert not errors


def two_persons(page, served: Served, **state: object) -> None:  # type: ignore[no-untyped-def]
    """Open a game between two persons, as the page itself keeps a game that is not over."""
    kept = {
        "start": "", "actions": [], "opponent": "person", "level": 1, "person": 0, "view": 0,
        "resigned": None, "flagged": None, "clock": None,
    }  # fmt: skip
    page.goto(served.address)
    page.wait_for_selector(".cell.open")  # From now on the page keeps nothing by itself.
    page.evaluate("kept => localStorage.setItem('zerogames.game', JSON.stringify(kept))",
                  kept | state)  # fmt: skip
    page.reload()


def point(page, name: str) -> None:  # type: ignore[no-untyped-def]
    page.locator(f'.cell[data-name="{name}"]').first.click()


def play(page, identity: str, start: str, moves: list[str]) -> None:  # type: ignore[no-untyped-def]
    """Make moves by pointing, as the game and its picture say."""
    game = get_game(identity)
    state = game.parse_state(start) if start else game.initial_state()
    for ply, text in enumerate(moves):
        (action,) = parse_actions(game, state, [text])
        picture = game.render(state)
        assert isinstance(picture, CellPicture)
        names = {cell.name for cell in picture.cells}
        cells = game.action_cells(state, action, names)
        for name in cells:
            point(page, name)
        same = [
            other
            for other in state.legal_actions().tolist()
            if game.action_cells(state, other, names) == cells
        ]
        if len(same) > 1 or not cells:
            label = game.notation(state, action)
            page.locator(".choices").get_by_text(label, exact=True).click()
        page.wait_for_function(
            "plies => document.querySelectorAll('.moves span span').length === plies", arg=ply + 1
        )
        state = state.play(action)


GAMES = {
    "connect4": ("", "1 2 1 2 1 2 1", "Red wins"),
    "chess, promotion by a choice": (
        "chess|7k/4P3/6K1/8/8/8/8/R7 w - - 0 1", "e7e8n h8g8 e8f6 g8h8", "to move"),
    "chess, mate": ("chess|", "f2f3 e7e5 g2g4 d8h4", "Black wins (checkmate)"),
    "go:size=5, passes": ("go:size=5|", "C3 C2 pass pass", "wins"),
    "othello:size=4": ("othello:size=4|", "", "wins"),
    "hex, swap": ("hex|", "c2 swap a1", "to move"),
    "amazons, a side acts three times": ("amazons|", "j4 e9 f10 g10", "second player to move"),
    "shogi, drop and mate": (
        "shogi|4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "G*5b", "Black wins"),
    "shogi, promotion by a choice": (
        "shogi|4k4/9/9/2P6/9/9/9/9/4K4 b - 1", "7d7c+ 5a4a", "to move"),
}  # fmt: skip


def _random_game(identity: str) -> list[str]:
    """A game to its end, with passes where it has them."""
    game, rng = get_game(identity), np.random.default_rng(5)
    state, moves = game.initial_state(), list[str]()
    while state.result is None:
        action = int(rng.choice(state.legal_actions()))
        moves.append(game.format_action(state, action))
        state = state.play(action)
    return moves


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_played_by_clicks(page, served: Served, name: str) -> None:  # type: ignore[no-untyped-def]
    place, text, outcome = GAMES[name]
    identity, _, start = place.partition("|")
    identity = identity or name
    moves = text.split() or _random_game(identity)
    two_persons(page, served, game=identity, start=start)
    play(page, identity, start, moves)
    page.wait_for_function(
        "text => document.querySelector('.status').textContent.includes(text)", arg=outcome
    )


def test_a_person_plays_against_the_shipped_net_with_hint_and_taking_back(page, served) -> None:  # type: ignore[no-untyped-def]
    page.goto(served.address)
    page.wait_for_selector(".cell.open")
    point(page, "4")
    page.wait_for_selector("text=your turn")
    page.wait_for_selector("text=the opponent expects")
    page.get_by_text("Hint", exact=True).click()
    page.wait_for_selector("table.rows")
    page.wait_for_selector(".mark")
    page.get_by_text("Take back").click()
    page.wait_for_function("() => document.querySelectorAll('.moves span span').length === 0")
    page.get_by_text("Resign").click()
    page.wait_for_selector("text=You lose (resignation)")
    with page.expect_download() as download:
        page.get_by_text("Save as").click()
    assert download.value.suggested_filename.startswith("connect4.")


def test_a_chess_move_is_dragged(page, served: Served) -> None:  # type: ignore[no-untyped-def]
    two_persons(page, served, game="chess")
    page.wait_for_selector(".cell.open")
    for name, call in (("e2", page.mouse.down), ("e4", page.mouse.up)):
        box = page.locator(f'[data-name="{name}"]').bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        call()
    page.wait_for_selector(".moves >> text=e4")
    assert page.locator(".ghost").count() == 0


def test_a_move_is_made_with_the_keyboard(page, served: Served) -> None:  # type: ignore[no-untyped-def]
    two_persons(page, served, game="chess")
    page.locator('[data-name="g1"]').focus()
    page.keyboard.press("Enter")
    page.locator('[data-name="h3"]').focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_selector(".moves >> text=Nf3")


def test_a_game_goes_on_after_a_reload_and_from_the_other_side(page, served: Served) -> None:  # type: ignore[no-untyped-def]
    game = get_game("chess")
    actions = parse_actions(game, game.initial_state(), ["e4", "e5"])
    two_persons(page, served, game="chess", actions=actions)
    page.wait_for_selector(".moves >> text=e5")
    top = page.locator('[data-name="a8"]').bounding_box()["y"]
    page.get_by_text("Turn the board").click()
    page.wait_for_function(
        "top => document.querySelector('[data-name=a8]').getBoundingClientRect().y > top + 100",
        arg=top,
    )
    assert play_actions(game.initial_state(), actions).plies == 2


def test_the_page_waits_for_a_server_that_was_killed_and_goes_on(page, served: Served) -> None:  # type: ignore[no-untyped-def]
    two_persons(page, served, game="connect4")
    page.wait_for_selector(".cell.open")
    served.stop()
    point(page, "4")
    page.wait_for_selector("#connection >> text=does not answer")
    served.start()
    page.wait_for_selector("#connection >> text=Connected again")
    point(page, "4")
    page.wait_for_selector(".moves >> text=4")


def test_hostile_text_is_shown_as_text(page, served: Served) -> None:  # type: ignore[no-untyped-def]
    hostile = "<img src=x onerror=document.title='owned'>"
    two_persons(page, served, game=hostile)
    page.wait_for_function(
        "text => document.querySelector('.error').textContent.includes(text)", arg=hostile[:20]
    )
    assert page.locator(".error img").count() == 0
    assert "owned" not in page.title()


def test_the_page_fits_a_narrow_screen(browser, served: Served) -> None:  # type: ignore[no-untyped-def]
    context = browser.new_context(viewport={"width": 360, "height": 700}, has_touch=True)
    with contextlib.closing(context):
        page = context.new_page()
        page.goto(served.address)
        page.wait_for_selector(".cell.open")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.locator('[data-name="4"]').first.tap()
        page.wait_for_selector(".moves >> text=4")


def test_a_pasted_game_is_analysed_with_a_variation_and_a_review(page, served: Served) -> None:  # type: ignore[no-untyped-def]
    page.goto(served.address + "#analyse")
    page.wait_for_selector(".cell.open")
    page.wait_for_selector(".bar rect")
    page.locator(".tree").wait_for()
    page.get_by_label("Game", exact=True).last.select_option("connect4")
    page.fill("textarea", "4 4 5 5 6 1 7")
    page.get_by_role("button", name="Open").click()
    page.wait_for_function("() => document.querySelectorAll('.tree .move').length === 7")
    page.locator(".tree .move").nth(4).click()
    page.wait_for_function("() => document.querySelectorAll('.lines tr').length > 2")
    page.wait_for_selector(".mark")
    point(page, "3")  # yellow stops the three in a row: a variation
    page.wait_for_function("() => document.querySelectorAll('.tree .move').length === 8")
    assert "(" in page.locator(".tree").inner_text()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("Review the game").click()
    page.wait_for_selector(".tree .worst")
    page.wait_for_selector(".chart .worst")


def test_a_game_is_handed_from_play_to_analysis(page, served: Served) -> None:  # type: ignore[no-untyped-def]
    two_persons(page, served, game="connect4", actions=[3, 2])
    page.wait_for_selector(".moves >> text=3")
    page.get_by_role("button", name="Analyse").click()
    page.wait_for_function("() => document.querySelectorAll('.tree .move').length === 2")


def test_a_runs_checkpoints_are_scrubbed(browser, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    write_small_run(tmp_path / "<b>small")
    server = Served(WebSettings(runs_folder=tmp_path))
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    with contextlib.closing(server), contextlib.closing(context):
        page = context.new_page()
        page.goto(server.address + "#runs")
        page.wait_for_selector("text=Step 20: Red to move")
        page.locator("#checkpoint").focus()
        page.keyboard.press("Home")
        page.wait_for_selector("text=Step 0: Red to move")
        page.get_by_text("This position at every step").click()
        page.wait_for_selector("text=Points that the side to move may expect")
        assert page.locator(".curves svg").count() == 3
        assert page.locator(".findings .good").count() >= 2
        assert page.locator("main b").count() == 0
