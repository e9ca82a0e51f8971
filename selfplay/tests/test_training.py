"""The loop in one process: it learns, continues where it was, and its sums add up."""

import dataclasses
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from small_runs import check_sums, tiny, train
from zerogames_selfplay.commands.train import COMMAND
from zerogames_selfplay.loop.display import training_frame
from zerogames_selfplay.loop.run_state import steps_in
from zerogames_selfplay.loop.settings import GateSettings, RatingSettings, read_run_settings
from zerogames_selfplay.loop.status import Status

from zerogames.command_line import read_arguments
from zerogames.errors import UserError
from zerogames.nets import load_net
from zerogames.runs.display import Display, sparkline
from zerogames.runs.metrics_log import read_lines


def test_a_run_continues_in_its_folder_and_the_sums_add_up(tmp_path: Path) -> None:
    first = tiny(tmp_path / "run")
    printed = train(first)
    assert "generation 2" in printed
    assert "zerogames report" in printed
    check_sums(tmp_path / "run", first)
    more = dataclasses.replace(first, generations=4)
    printed = train(more)
    assert "continuing at step" in printed
    check_sums(tmp_path / "run", more)
    lines = read_lines(tmp_path / "run" / "metrics.jsonl")
    assert len(lines) == 4
    assert 0 < lines[-1]["validation_opening_policy_accuracy"] <= 1
    assert lines[-1]["validation_value_mse"] == pytest.approx(
        4 * lines[-1]["validation_value_mse_quarter"], abs=1e-4
    )
    _, info = load_net(tmp_path / "run" / "net.safetensors")
    assert info.step == steps_in(tmp_path / "run" / "nets")[-1]
    assert len(steps_in(tmp_path / "run" / "checkpoints")) == first.keep_checkpoints


def test_nets_that_learn_who_owns_what_are_trained_too(tmp_path: Path) -> None:
    settings = tiny(tmp_path, game="go:size=5", net="res_3x3_1x8+gap+ownership", generations=1)
    assert "generation 1" in train(settings)
    check_sums(tmp_path, settings)


def test_a_finished_run_does_nothing_more(tmp_path: Path) -> None:
    settings = tiny(tmp_path, generations=1)
    train(settings)
    step = steps_in(tmp_path / "nets")[-1]
    assert "a larger limit continues" in train(settings)
    assert steps_in(tmp_path / "nets")[-1] == step


def test_ratings_are_written_with_intervals_and_results(tmp_path: Path) -> None:
    rating = RatingSettings(share=0.5, visits=4, pairs=2, anchors=("random", "mcts:4"))
    printed = train(tiny(tmp_path, rating=rating))
    lines = read_lines(tmp_path / "ratings.jsonl")
    assert lines
    assert "Elo" in printed
    last = lines[-1]
    assert last["low"] < last["elo"] < last["high"]
    assert last["step"] == steps_in(tmp_path / "nets")[-1]
    results = {result["opponent"]: result for result in last["results"]}
    assert {"random", "mcts:4"} <= set(results)
    for result in results.values():
        assert result["wins"] + result["draws"] + result["losses"] == 4


def test_a_net_that_fails_at_the_gate_does_not_play(tmp_path: Path) -> None:
    printed = train(tiny(tmp_path, gate=GateSettings(pairs=1, visits=2, score=1.0)))
    failed = printed.count("does not play yet")
    passed = printed.count("plays from now on")
    assert failed + passed == 2
    _, info = load_net(tmp_path / "net.safetensors")
    assert (info.step == 0) == (passed == 0)


def test_too_little_time_says_how_much_is_missing(tmp_path: Path) -> None:
    printed = train(tiny(tmp_path, generations=None, minutes=0.01, first_positions=100_000))
    assert "100,000 positions are missing" in printed.replace("of 100,000", "100,000")


def test_settings_of_the_folder_are_the_base_of_the_next_start(tmp_path: Path) -> None:
    train(tiny(tmp_path, generations=1))
    again = read_arguments(COMMAND, ["--out", str(tmp_path), "--generations", "3"])
    assert again == dataclasses.replace(tiny(tmp_path), generations=3)
    assert read_run_settings(tmp_path) is not None


def test_another_game_or_net_is_refused(tmp_path: Path) -> None:
    train(tiny(tmp_path, generations=1))
    with pytest.raises(UserError, match="run of connect4, not of othello"):
        train(tiny(tmp_path, game="othello"))
    with pytest.raises(UserError, match="trains the net res_3x3_1x8"):
        train(tiny(tmp_path, net="res_3x3_2x8"))


def test_a_limit_on_the_command_line_replaces_the_minutes_of_the_preset() -> None:
    assert read_arguments(COMMAND, ["--game", "connect4", "--preset", "quick"]).minutes == 20
    assert read_arguments(COMMAND, ["--preset", "quick", "--steps", "10"]).minutes is None
    assert read_arguments(COMMAND, ["--preset", "quick", "--minutes", "3"]).limit_s == 180


def test_the_display_tells_what_is_waited_for_and_the_rating_curve() -> None:
    console = Console(file=StringIO(), width=100, force_terminal=True)
    status = Status(game="connect4", net="res_3x3_1x8", phase="playing", progress=0.25)
    status.reason = "12 of 100 positions for the next round"
    status.ratings = [(10, 0.0, -50.0, 50.0), (20, 350.0, 300.0, 400.0)]
    with Display(console) as display:
        display.show(training_frame(status))
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "\nplaying: 12 of 100 positions for the next round" in shown.replace("\r", "")
    assert "+350 Elo (+300 to +400)" in shown
    assert sparkline([0.0, 350.0]) == "▁█"
