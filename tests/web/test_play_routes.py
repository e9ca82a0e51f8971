"""What the play page asks, for every installed game."""

import threading
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from zerogames import get_game
from zerogames.data.formats import get_game_data
from zerogames.engine.levels import LEVELS
from zerogames.errors import UserError
from zerogames.game import Game
from zerogames.nets import build_model, save_net
from zerogames.registry import game_names
from zerogames.web.game_line import LARGEST_LINE, GameLines, show_position
from zerogames.web.opponents import MOST_WAITING, WITHOUT_NET, Opponents

TOKEN = "t" * 32
HOSTILE = "<img src=x onerror=alert(1)>\"'&"


def test_games_are_listed_with_options_and_variants(client: TestClient) -> None:
    found = client.get(f"/{TOKEN}/api/games").json()
    games = {game["name"]: game for game in found["games"]}
    assert set(games) == set(game_names())
    assert "go:size=9" in games["go"]["variants"]
    size = games["go"]["options"][0]
    assert (size["name"], size["default"]) == ("size", "19")
    assert [level["name"] for level in found["levels"]] == [level.name for level in LEVELS]


def _identity(name: str) -> str:
    return {"go": "go:size=5", "othello": "othello:size=4"}.get(name, name)


@pytest.mark.parametrize("name", sorted(set(game_names()) - {"openspiel"}))
def test_every_move_of_a_game_can_be_told_by_cells_and_a_text(name: str) -> None:
    """No two moves look the same to the person who points at them."""
    lines, rng, actions = GameLines(), np.random.default_rng(3), list[int]()
    for _ in range(80):
        shown = show_position(lines.replay(_identity(name), "", actions), view=len(actions) % 2)
        if shown["result"] is not None:
            break
        legal = shown["legal"]
        assert isinstance(legal, list)
        told = {(tuple(move["cells"]), move["text"]) for move in legal}
        assert len(told) == len(legal)
        assert len(shown["moves"]) == len(shown["movers"]) == len(actions)  # type: ignore[arg-type]
        assert all(move["cells"] or move["text"] in ("pass", "swap") for move in legal)
        actions.append(int(rng.choice([move["action"] for move in legal])))


def test_a_line_is_replayed_from_what_is_known() -> None:
    lines = GameLines()
    first = lines.replay("connect4", "", [3, 3])
    longer = lines.replay("connect4", "", [3, 3, 2])
    assert longer.states[:3] == first.states
    other = lines.replay("connect4", "", [3, 2])
    assert other.texts == ("4", "3")
    assert lines.replay("connect4", "", []).texts == ()


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"game": "no-such-game"}, "unknown game"),
        ({"game": "connect4", "actions": [3, 3, 3, 3, 3, 3, 3]}, "move 7 is not legal"),
        ({"game": "connect4", "actions": [-1]}, "move 1 is not legal"),
        ({"game": "connect4", "actions": [10**12]}, "move 1 is not legal"),
        ({"game": "connect4", "actions": ["x"]}, "actions.0"),
        ({"game": "connect4", "actions": [3] * (LARGEST_LINE + 1)}, "actions"),
        ({"game": "connect4", "start": "nonsense"}, ""),
        ({"game": "chess", "start": HOSTILE}, ""),
        ({"game": "x" * 1000}, "game"),
        ({"game": "go:size=1000"}, "size"),
        ({"start": ""}, "game"),
        ({"game": "connect4", "view": 2}, "view"),
    ],
)
def test_a_wrong_question_is_one_clear_sentence(post, question, message) -> None:  # type: ignore[no-untyped-def]
    error = post("position", 400, **question)["error"]
    assert message in error
    assert "\n" not in error
    assert "Traceback" not in error


def test_a_whole_game_is_played_against_search_without_a_net(post) -> None:  # type: ignore[no-untyped-def]
    actions: list[int] = []
    position = post("position", game="connect4")
    while position["result"] is None:
        if len(actions) % 2 == 0:
            actions.append(position["legal"][0]["action"])
            position = post("position", game="connect4", actions=actions)
        else:
            answer = post(
                "move", game="connect4", actions=actions, opponent=WITHOUT_NET, level=5, view=1
            )
            actions.append(answer["action"])
            position = answer["position"]
            assert position["moves"][-1] == answer["text"]
            assert 0 <= answer["score"] <= 1
    assert position["result"] == -1, "the first column alone loses"
    assert (
        "game is over"
        in post("move", 400, game="connect4", actions=actions, opponent=WITHOUT_NET)["error"]
    )


def test_hints_tell_moves_with_their_shares(post) -> None:  # type: ignore[no-untyped-def]
    found = post("hint", game="connect4", actions=[3], opponent="shipped", level=5)
    assert found["nodes"] >= 1
    best = found["moves"][0]
    assert best["text"] in "1234567"
    assert 0 <= best["policy"] <= 1
    assert sum(move["visits"] for move in found["moves"]) == pytest.approx(1)


@pytest.mark.parametrize("identity", ["chess", "go:size=9", "connect4", "shogi"])
def test_games_are_saved_in_every_text_form(post, identity: str) -> None:  # type: ignore[no-untyped-def]
    game = get_game(identity)
    action = int(game.initial_state().legal_actions()[0])
    forms = post("choices", game=identity)["forms"]
    for form in forms:
        file = post(
            "save", game=identity, actions=[action], form=form, names=[HOSTILE, "b"], resigned=1
        )
        assert file["name"].endswith(form)
        (record,) = get_game_data(game).readers[form](file["text"].encode())
        assert record.actions.tolist() == [action]
        assert record.result == 1
    assert "known" in post("save", 400, game=identity, form="../x")["error"]


def test_an_opponent_that_is_not_offered_is_refused(post) -> None:  # type: ignore[no-untyped-def]
    for key in ("net-0", "/etc/passwd", "net--1", "newest"):
        error = post("move", 400, game="shogi", opponent=key)["error"]
        assert "choose another" in error


def test_nets_of_the_command_line_are_offered_to_their_game(tmp_path: Path) -> None:
    game, other = get_game("connect4"), get_game("othello:size=6")
    net = tmp_path / "mine.safetensors"
    save_net(net, build_model(game.parse_net("res_3x3_1x8"), game))
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no net")
    opponents = Opponents(nets=(str(net), str(broken)))
    assert opponents.of(game)[0].title == "mine.safetensors"
    assert "net-0" not in {opponent.key for opponent in opponents.of(other)}
    with opponents.seat(game, "net-0", threading.Event()) as adviser:
        assert adviser.think(game.initial_state(), []).nodes == 1
    with (
        pytest.raises(UserError, match="choose another"),
        opponents.seat(other, "net-0", threading.Event()),
    ):
        pass


def test_one_game_at_a_time_asks_an_engine_and_few_wait() -> None:
    game: Game = get_game("connect4")
    opponents, stop = Opponents(), threading.Event()
    failures: list[str] = []

    def wait() -> None:
        try:
            with opponents.seat(game, WITHOUT_NET, stop):
                pass
        except UserError as error:
            failures.append(str(error))

    with opponents.seat(game, WITHOUT_NET, threading.Event()):
        threads = [threading.Thread(target=wait) for _ in range(MOST_WAITING + 2)]
        for thread in threads:
            thread.start()
        while len(failures) < 3:
            pass
        assert all("at once" in failure for failure in failures)
        stop.set()
        for thread in threads:
            thread.join()
    assert sum("given up" in failure for failure in failures) == MOST_WAITING - 1
    with opponents.seat(game, WITHOUT_NET, threading.Event()):
        pass
