import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from zerogames_selfplay import SelfplaySettings, run_selfplay
from zerogames_selfplay.commands.selfplay import COMMAND
from zerogames_selfplay.players.lane import split_games

import zerogames
from zerogames.atomic import temporary_path
from zerogames.cli import main
from zerogames.command_line import read_arguments
from zerogames.data import GameRecord
from zerogames.data.formats import get_game_data
from zerogames.data.shard import read_shard, shard_paths
from zerogames.search import PoolGames
from zerogames.search.settings import PoolSettings, search_preset


def settings(out: Path, **changes: object) -> SelfplaySettings:
    values: dict[str, object] = {
        "game": "connect4",
        "evaluator": "random",
        "out": out,
        "games": 12,
        "lanes": 1,
        "search": search_preset("gumbel", simulations=8),
        "pool": PoolSettings(parallel_games=4),
    }
    return SelfplaySettings(**{**values, **changes})  # type: ignore[arg-type]


def play(out: Path, **changes: object) -> list[GameRecord]:
    run_selfplay(settings(out, **changes))
    return records(out)


def records(out: Path) -> list[GameRecord]:
    return [record for path in shard_paths(out) for record in read_shard(path)]


def moves(games: list[GameRecord]) -> list[list[int]]:
    return sorted(game.actions.tolist() for game in games)


def test_every_game_is_recorded_and_replays(tmp_path: Path) -> None:
    games = play(tmp_path / "run")
    assert len(games) == 12
    game = zerogames.get_game("connect4")
    for record in games:
        state = record.final_state(game)
        assert state.result == record.result
        assert state.end_reason == record.reason
        assert record.search is not None
        for ply in range(record.search.plies):
            actions, visits, targets = record.search.policy(ply)
            if len(actions):
                assert abs(float(targets.sum()) - 1) < 1e-4
                assert visits.sum() > 0


def test_the_same_seed_gives_the_same_games_however_they_are_split(tmp_path: Path) -> None:
    one = moves(play(tmp_path / "one"))
    assert one == moves(play(tmp_path / "again"))
    assert one == moves(play(tmp_path / "lanes", lanes=3))
    assert one == moves(play(tmp_path / "parallel", pool=PoolSettings(parallel_games=7)))
    assert one != moves(play(tmp_path / "seed", seed=2))


def test_a_second_start_continues_with_new_games(tmp_path: Path) -> None:
    first = moves(play(tmp_path))
    both = moves(play(tmp_path))
    assert len(both) == 24
    assert len({tuple(game) for game in both}) > 12
    assert all(game in both for game in first)
    assert len(json.loads((tmp_path / "run.json").read_text())["sessions"]) == 2


@pytest.mark.parametrize("games", [1, 2, 7, 100])
@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_lanes_share_all_games(games: int, lanes: int) -> None:
    whole = PoolGames(first_game=5, game_step=4, num_games=games, seed=1)
    played = []
    for lane in range(lanes):
        share = split_games(whole, lane, lanes)
        assert share.num_games is not None
        played += [share.first_game + index * share.game_step for index in range(share.num_games)]
    assert sorted(played) == [5 + 4 * index for index in range(games)]


def test_positions_and_minutes_end_a_run(tmp_path: Path) -> None:
    games = play(tmp_path / "positions", games=None, positions=60)
    assert sum(len(game.actions) for game in games) >= 60
    start = time.monotonic()
    play(tmp_path / "minutes", games=None, minutes=0.02)
    assert time.monotonic() - start < 30


def test_openings_are_used(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("# two openings\nmoves 4 4\n7/7/7/7/7/2xo3 x\n")
    games = play(tmp_path / "run", openings=book)
    assert {game.start for game in games} == {"7/7/7/7/3o3/3x3 x", "7/7/7/7/7/2xo3 x"}
    book.write_text("moves 4\nmoves 9\n")
    with pytest.raises(zerogames.UserError, match=r"book\.txt:2"):
        play(tmp_path / "bad", openings=book)


def test_a_python_game_plays_too(tmp_path: Path) -> None:
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import zerogames.registry
from importlib.metadata import EntryPoint
point = EntryPoint("tictactoe", "zerogames_tictactoe:game", "zerogames.games")
zerogames.registry._entry_points()["tictactoe"] = point
from zerogames.cli import main
raise SystemExit(main(["selfplay", "--game", "tictactoe", "--evaluator", "random", "--games", "5",
                       "--simulations", "8", "--out", sys.argv[2]]))
"""
    package = Path(__file__).resolve().parents[2] / "examples" / "tictactoe"
    subprocess.run([sys.executable, "-c", script, package, tmp_path / "run"], check=True)
    assert len(records(tmp_path / "run")) == 5


def test_the_command_makes_a_net_and_says_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    command = ["selfplay", "--game", "connect4", "--net", "res_3x3_1x8", "--games", "3"]
    assert main([*command, "--simulations", "4"]) == 0
    out = capsys.readouterr().out
    assert "a new random net res_3x3_1x8" in out
    assert "next: zerogames info runs/connect4" in out
    assert (tmp_path / "runs" / "connect4" / "net.safetensors").exists()
    assert main(["selfplay", "--game", "connect4", "--games", "2"]) == 0
    assert "net runs/connect4/net.safetensors" in capsys.readouterr().out
    assert main(["info", "runs/connect4", "--export", "games.txt"]) == 0
    assert "5, 0 of them repeated" in capsys.readouterr().out
    game = zerogames.get_game("connect4")
    assert len(list(get_game_data(game).readers["txt"]((tmp_path / "games.txt").read_bytes()))) == 5


def test_presets_and_overrides() -> None:
    plain = read_arguments(COMMAND, ["--game", "chess"])
    assert plain.search.algorithm == "gumbel"
    assert plain.pool.max_plies == 300
    changed = read_arguments(
        COMMAND, ["--game=chess", "--search.preset=alphazero", "--simulations", "77"]
    )
    assert (changed.search.algorithm, changed.search.simulations) == ("puct", 77)
    with pytest.raises(zerogames.UserError, match="preset"):
        read_arguments(COMMAND, ["--game", "chess", "--preset", "nothing"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "ches"], "did you mean 'chess'"),
        (["--game", "connect4", "--net", "none.safetensors"], "no net file"),
        (["--game", "connect4", "--net", "rez_3x3_1x8"], "did you mean 'res'"),
        (["--game", "connect4", "--games", "0"], "--games must be positive"),
        (["--game", "connect4", "--evaluator", "onx"], "did you mean 'onnx'"),
        (["--game", "connect4", "--search.simulations", "0"], "simulations must be"),
        (["--game", "connect4", "--openings", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["selfplay", *arguments, "--out", str(tmp_path / "run")]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_folder_of_another_game_is_refused(tmp_path: Path) -> None:
    play(tmp_path)
    with pytest.raises(zerogames.UserError, match="holds a run of connect4"):
        play(tmp_path, game="othello")


def start_forever(out: Path) -> "subprocess.Popen[str]":
    command = ["selfplay", "--game", "connect4", "--evaluator", "random", "--forever"]
    options = ["--simulations", "8", "--shard-positions", "300", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "zerogames", *command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A job in the background starts with Ctrl-C ignored; this one must not inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while len(shard_paths(out)) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_writes_what_it_has_and_says_how_to_continue(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = start_forever(tmp_path)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert "the same command continues from here" in out
    counts = json.loads((tmp_path / "session-0000.json").read_text())
    games = records(tmp_path)
    assert counts["games"] == len(games)
    assert counts["positions"] == sum(len(game.actions) for game in games)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_killed_run_loses_nothing_that_was_written(tmp_path: Path) -> None:
    process = start_forever(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    before = moves(records(tmp_path))
    assert before
    after = moves(play(tmp_path, games=3))
    assert len(after) == len(before) + 3


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_stops_the_run_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    about = {"kind": "selfplay", "game": "connect4", "sessions": [{}], "settings": {}}
    (tmp_path / "run.json").write_text(json.dumps(about))
    temporary_path(shards / "0001-000001.parquet").symlink_to("/dev/full")
    command = ["selfplay", "--game", "connect4", "--evaluator", "random", "--forever"]
    options = ["--simulations", "8", "--shard-positions", "300", "--lanes", "1"]
    assert main([*command, *options, "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "is full" in err
    assert err.count("\n") == 1
    kept = moves(records(tmp_path))
    assert kept
    assert len(moves(play(tmp_path, games=2))) == len(kept) + 2


def test_an_evaluator_that_fails_stops_the_run(tmp_path: Path) -> None:
    net = tmp_path / "net.safetensors"
    net.write_bytes(b"not a net")
    with pytest.raises(zerogames.UserError, match=r"net\.safetensors"):
        play(tmp_path / "run", evaluator="onnx", net=str(net))


def test_values_are_the_movers_view(tmp_path: Path) -> None:
    """The last mover of a won game saw a win, whoever it was."""
    games = play(tmp_path, search=search_preset("gumbel", simulations=64), games=20)
    seen = []
    for record in games:
        assert record.search is not None
        if record.reason == "four in a row":
            seen.append(float(record.search.values["played_q"][-1]))
    assert seen
    assert np.mean(seen) > 0.5


def test_chess_records_become_lc0_chunks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each version 6 record says what was played and seen; offsets as the format has them."""
    games = play(tmp_path / "run", game="chess", games=2, pool=PoolSettings(max_plies=40))
    assert main(["info", str(tmp_path / "run"), "--export", str(tmp_path / "games.lc0")]) == 0
    assert "2 games written" in capsys.readouterr().out
    chunks = sorted((tmp_path / "games.lc0").glob("*.gz"))
    for record, chunk in zip(games, chunks, strict=True):
        assert record.search is not None
        rows = np.frombuffer(gzip.decompress(chunk.read_bytes()), np.uint8).reshape(-1, 8356)
        assert len(rows) == len(record.actions)
        played = np.ascontiguousarray(rows[:, 8344:8346]).view("<u2").ravel()
        assert played.tolist() == record.actions.tolist()
        assert (np.ascontiguousarray(rows[:, :4]).view("<u4") == 6).all()
        root_q = np.ascontiguousarray(rows[:, 8280:8284]).view("<f4").ravel()
        known = np.isfinite(record.search.values["root_q"])
        np.testing.assert_array_equal(root_q[known], record.search.values["root_q"][known])
        shares = np.ascontiguousarray(rows[:, 8:7440]).view("<f4")
        for ply, state_shares in enumerate(shares):
            actions, _, targets = record.search.policy(ply)
            np.testing.assert_allclose(state_shares[actions], targets, atol=1e-6)
