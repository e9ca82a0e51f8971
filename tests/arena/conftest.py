"""What tests of matches share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from zerogames.arena.event import Conditions, Event
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.runner import run_event

Run = Callable[..., list[StoredGame]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Play an event in a folder of its own and return its games."""

    def play(*players: str, folder: str = "match", **settings: object) -> list[StoredGame]:
        values = {"game": "connect4", "games": 2} | settings
        event = Event(players, Conditions(**values))  # type: ignore[arg-type]
        with MatchFolder(tmp_path / folder, event.identity(), event.game, "-") as opened:
            assert run_event(event, opened) == "finished"
            return list(opened.games)

    return play
