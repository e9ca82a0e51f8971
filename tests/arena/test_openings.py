"""Who meets whom, from which opening."""

from pathlib import Path

import pytest

from zerogames.arena.openings import load_openings
from zerogames.arena.schedule import schedule
from zerogames.data.formats import get_game_data
from zerogames.errors import UserError
from zerogames.registry import get_game


def test_every_pairing_plays_each_opening_with_both_colours() -> None:
    games = list(schedule(["a", "b", "c"], 4, "round-robin"))
    assert len(games) == 12
    assert len({one.key for one in games}) == 12
    for one in games:
        assert [g.swapped for g in games if g.pair == one.pair] == [False, True]
    assert {(g.first, g.second) for g in games if g.pairing == ("a", "b")} == {
        ("a", "b"),
        ("b", "a"),
    }
    gauntlet = list(schedule(["a", "b", "c"], 3, "gauntlet"))
    assert [(g.first, g.second, g.round) for g in gauntlet] == [
        ("a", "b", 0),
        ("b", "a", 0),
        ("a", "c", 0),
        ("c", "a", 0),
        ("a", "b", 1),
        ("a", "c", 1),
    ]


def test_a_longer_schedule_contains_the_shorter_one() -> None:
    short = {one.key for one in schedule(["a", "b", "c"], 5, "round-robin")}
    long = {one.key for one in schedule(["a", "b", "c"], 8, "round-robin")}
    assert short < long


def test_random_openings_are_legal_reproducible_and_differ() -> None:
    game = get_game("othello")
    openings = load_openings("random:6", game, seed=3)
    again = load_openings("random:6", game, seed=3)
    assert all(openings[n] == again[n] for n in range(20))
    assert len({openings[n].actions for n in range(20)}) > 15
    assert all(len(openings[n].actions) == 6 for n in range(20))
    with pytest.raises(UserError, match="random:x"):
        load_openings("random:x", game)


def test_openings_come_from_files(tmp_path: Path) -> None:
    game = get_game("othello:size=6")
    positions = tmp_path / "start.fen"
    state = game.initial_state()
    state = state.play(int(state.legal_actions()[0]))
    positions.write_text("6/6/2ox2/2xo2/6/6 x\n\n")
    with pytest.raises(UserError, match=r"start\.fen, line 1"):
        load_openings(str(positions), game)  # not four fields
    text = get_game_data(game).writers["txt"]
    from zerogames.data.record import GameRecord

    record = GameRecord(
        game=game.spec.identity,
        actions=random_actions(game.spec.identity, 8),
        result=None,
    )
    games = tmp_path / "lines.txt"
    games.write_bytes(text.write(record) * 2)
    openings = load_openings(str(games), game, plies=3)
    assert openings[0].actions == openings[1].actions == tuple(record.actions[:3])
    with pytest.raises(UserError, match="no file"):
        load_openings(str(tmp_path / "none.txt"), game)
    (tmp_path / "x.bin").write_text("")
    with pytest.raises(UserError, match="files of type"):
        load_openings(str(tmp_path / "x.bin"), game)


def random_actions(identity: str, plies: int):  # type: ignore[no-untyped-def]
    import numpy as np

    state = get_game(identity).initial_state()
    actions = []
    for _ in range(plies):
        actions.append(int(state.legal_actions()[0]))
        state = state.play(actions[-1])
    return np.array(actions, np.int32)
