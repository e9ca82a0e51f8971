"""Matches with engines that others wrote: Stockfish and GNU Go, where they are installed."""

import io
import shutil
from pathlib import Path

import chess.pgn
import pytest

from zerogames.arena.adjudication import longest_game
from zerogames.arena.elo import estimate_tally
from zerogames.arena.event import Conditions, Event
from zerogames.arena.match_folder import MatchFolder, StoredGame
from zerogames.arena.openings import OpeningList, load_openings
from zerogames.arena.runner import event_tally, run_event
from zerogames.data.formats import get_game_data
from zerogames.errors import UserError
from zerogames.registry import all_plugins, get_game


def program(name: str) -> str:
    """The path of an engine; skips the test where it is not installed."""
    path = shutil.which(name) or shutil.which(name, path="/usr/games")
    if path is None:
        pytest.skip(f"no {name}: install the package `{name}`")
    return path


def play(folder: Path, players: list[str], **settings: object) -> tuple[Event, list[StoredGame]]:
    event = Event(players, Conditions(**settings))  # type: ignore[arg-type]
    with MatchFolder(folder, event.identity(), event.game, str(event.rules.control)) as opened:
        assert run_event(event, opened) == "finished"
        return event, list(opened.games)


def test_stockfish_beats_random_and_the_pgn_replays(tmp_path: Path) -> None:
    stockfish = program("stockfish")
    _, games = play(tmp_path, [f"uci:{stockfish}?Threads=1", "random"], games=4, nodes=1000)
    assert [one.loser for one in games] == ["random"] * 4
    assert not any(one.fault for one in games)
    stream = io.StringIO((tmp_path / "games.pgn").read_text())
    for stored in games:
        game = chess.pgn.read_game(stream)
        assert game is not None
        assert not game.errors
        assert game.headers["Result"] == ("1-0" if stored.result > 0 else "0-1")
        assert {game.headers["White"], game.headers["Black"]} == {"stockfish", "random"}
        assert [move.uci() for move in game.mainline_moves()] == stored.moves
        assert game.end().board().is_checkmate()
        comments = [node.comment for node in game.mainline()]
        assert comments[0] == "book"
        assert any(comment.startswith("+") and comment.endswith("n") for comment in comments)
    assert chess.pgn.read_game(stream) is None


def test_stockfish_keeps_a_fast_clock_and_is_adjudicated(tmp_path: Path) -> None:
    stockfish = program("stockfish")
    engine = f"uci:{stockfish}?Threads=1&UCI_LimitStrength=true"
    _, games = play(
        tmp_path,
        [f"{engine}&UCI_Elo=1350", f"{engine}&UCI_Elo=2800"],
        games=2,
        tc="1+0.02",
        margin=20.0,
        resign="2/300",
        draw="20/4/30",
    )
    assert not any(one.fault for one in games)
    assert all(one.reason for one in games)


def test_a_players_own_limits_are_for_it_alone(tmp_path: Path) -> None:
    stockfish = program("stockfish")
    _, games = play(
        tmp_path,
        [f"weak=uci:{stockfish}?nodes=50&Threads=1", f"strong=uci:{stockfish}?Threads=1"],
        games=2,
        nodes=2000,
        resign="3/500",
    )
    for one in games:
        nodes = {"weak": set(), "strong": set()}  # type: dict[str, set[int]]
        for ply, comment in one.comments.items():
            if comment.endswith("n"):
                mover = one.first if ply % 2 == 0 else one.second
                nodes[mover].add(int(comment.split()[-1][:-1]))
        assert max(nodes["weak"]) < 500 < max(nodes["strong"])


def test_chess960_castling_and_start_positions_reach_the_engine(tmp_path: Path) -> None:
    stockfish = program("stockfish")
    _, games = play(
        tmp_path,
        [f"uci:{stockfish}?Threads=1", "random"],
        game="chess:variant=960,start=17",
        games=2,
        nodes=200,
    )
    assert not any(one.fault for one in games)
    assert [one.loser for one in games] == ["random"] * 2


def test_openings_from_epd_and_pgn(tmp_path: Path) -> None:
    game = get_game("chess")
    epd = tmp_path / "start.epd"
    epd.write_text(
        'r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - bm a6; id "Ruy";\n'
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n"
    )
    openings = load_openings(str(epd), game)
    assert openings[0].start.startswith("r1bqkbnr/")
    assert openings[2] == openings[0]
    assert openings[0].state(game).to_play == 1
    pgn = tmp_path / "lines.pgn"
    pgn.write_text('[Opening "Ruy"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 *\n\n1. d4 d5 *\n')
    lines = load_openings(str(pgn), game, plies=4)
    assert [lines[0].name, len(lines[0].actions), len(lines[1].actions)] == ["Ruy", 4, 2]
    epd.write_text("not a position at all\n")
    with pytest.raises(UserError, match="line 1"):
        load_openings(str(epd), game)
    # Black moves first from such a position, whoever has White.
    _, games = play(
        tmp_path / "match", ["random", "mcts:1"], games=2, openings=str(pgn), max_plies=12
    )
    assert all(one.moves[:5] == ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5"] for one in games)


def gnugo(level: int) -> str:
    options = "--mode gtp --chinese-rules --capture-all-dead"
    return f"gtp:{program('gnugo')} {options} --level {level}"


def test_gnugo_beats_random_and_the_sgf_reads_back(tmp_path: Path) -> None:
    identity = "go:size=5,komi=0.5,rules=chinese"
    _, games = play(tmp_path, [gnugo(1), "random"], game=identity, games=2, openings="none")
    assert [(one.loser, one.fault) for one in games] == [("random", None)] * 2
    game = get_game(identity)
    records = list(get_game_data(game).readers["sgf"]((tmp_path / "games.sgf").read_bytes()))
    assert [record.result for record in records] == [one.result for one in games]
    for record, stored in zip(records, games, strict=True):
        assert record.actions.tolist() == stored.actions
        assert record.tags["PB"] == stored.first
        assert "s" in record.comments[0]
        final = record.final_state(game)
        if stored.reason != "resignation":
            assert stored.result == final.result or len(stored.actions) >= 60


def test_a_go_game_that_is_too_long_is_scored_as_it_stands(tmp_path: Path) -> None:
    game = get_game("go:size=5,komi=0.5")
    assert longest_game(game) == 60
    _, games = play(
        tmp_path,
        ["random", "random"],
        game="go:size=5,komi=0.5",
        games=4,
        max_plies=6,
        openings="none",
    )
    for one in games:
        assert one.reason in ("length, scored as it stands", "two passes")
        assert one.result in (1.0, -1.0)  # a half point komi leaves no draw


def test_gnugo_is_told_handicap_and_clock(tmp_path: Path) -> None:
    _, games = play(
        tmp_path,
        [gnugo(1), "random"],
        game="go:size=9,komi=0.5,rules=chinese,handicap=2",
        games=2,
        tc="60",
        max_plies=14,
        openings="none",
    )
    assert [one.fault for one in games] == [None, None]


@pytest.mark.parametrize("name", [plugin.name for plugin in all_plugins() if plugin.openings])
def test_built_in_books_are_legal_and_free_of_repetition(name: str) -> None:
    game = get_game(name)
    openings = load_openings("builtin", game)
    assert isinstance(openings, OpeningList)
    finals = set()
    for opening in openings.openings:
        state = opening.state(game)
        for action in opening.actions:
            state = state.play(action)
        assert state.result is None
        finals.add(state.position_key)
    assert len(finals) == len(openings.openings) >= 50


@pytest.mark.slow
def test_the_chess_book_is_balanced() -> None:
    import chess.engine

    game = get_game("chess")
    openings = load_openings("builtin", game)
    assert isinstance(openings, OpeningList)
    with chess.engine.SimpleEngine.popen_uci(program("stockfish")) as engine:
        for opening in openings.openings:
            state = opening.state(game)
            for action in opening.actions:
                state = state.play(action)
            board = chess.Board(game.format_state(state))
            score = engine.analyse(board, chess.engine.Limit(depth=14))["score"].white().score()
            assert score is not None
            assert abs(score) <= 90, f"{opening.name}: {score}"


@pytest.mark.slow
def test_stockfish_levels_are_told_apart(tmp_path: Path) -> None:
    stockfish = program("stockfish")
    engine = f"uci:{stockfish}?Threads=1&UCI_LimitStrength=true"
    event = Event(
        [f"{engine}&UCI_Elo=2000", f"{engine}&UCI_Elo=1350"],
        Conditions(games=20, nodes=3000, concurrency=2, resign="3/900", draw="40/8/20"),
    )
    with MatchFolder(tmp_path, event.identity(), event.game, "-") as folder:
        assert run_event(event, folder) == "finished"
        estimate = estimate_tally(event_tally(event, folder))
    assert estimate.los > 0.95
